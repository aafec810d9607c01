package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"
)

// verdict is what became of one stream, as its client sees it.
type verdict string

const (
	wholeStream verdict = "whole"     // all tokens, the reason "length", the end marker
	truncated   verdict = "truncated" // it had begun, with status 200
	refused     verdict = "refused"   // no status 200
)

// loader streams from a server, as many times a second as it is told, each time over a connection of its own.
type loader struct {
	url, model string
	tokens     int
	silence    time.Duration // without a byte for that long a stream counts as truncated
	client     *http.Client

	mutex   sync.Mutex
	summary summary
}

// summary is printed as JSON at the end. Longest is the longest wait for a token.
type summary struct {
	Begun     int      `json:"begun"` // streams that had their first token
	Whole     int      `json:"whole"`
	Truncated int      `json:"truncated"`
	Refused   int      `json:"refused"`
	Longest   float64  `json:"longestPauseSeconds"`
	Failures  []string `json:"failures,omitempty"` // the first of them
}

func loadCommand(words []string) int {
	l := &loader{client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
	set := flag.NewFlagSet("load", flag.ContinueOnError)
	set.StringVar(&l.url, "url", "http://127.0.0.1:8000", "server")
	set.StringVar(&l.model, "model", "model", "name of the model")
	set.IntVar(&l.tokens, "tokens", 100, "tokens of each stream")
	set.DurationVar(&l.silence, "silence", 30*time.Second, "without a byte for so long a stream is truncated")
	rate := set.Float64("rate", 1, "streams a second; 0: one stream in all")
	if set.Parse(words) != nil || *rate < 0 {
		return 2
	}
	stop, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer cancel()
	l.run(stop, *rate)
	json.NewEncoder(os.Stdout).Encode(l.summary)
	return 0
}

// run begins streams until it is told to stop, and returns when all have ended.
func (l *loader) run(stop context.Context, rate float64) {
	var all sync.WaitGroup
	defer all.Wait()
	for {
		all.Go(l.one)
		if rate == 0 {
			return
		}
		select {
		case <-stop.Done():
			return
		case <-time.After(time.Duration(float64(time.Second) / rate)):
		}
	}
}

func (l *loader) one() {
	start := time.Now()
	what, err := l.stream()
	l.mutex.Lock()
	defer l.mutex.Unlock()
	switch what {
	case wholeStream:
		l.summary.Whole++
	case truncated:
		l.summary.Truncated++
	case refused:
		l.summary.Refused++
	}
	if err != nil {
		line := fmt.Sprintf("%s after %.1f s: %s", what, time.Since(start).Seconds(), err)
		fmt.Fprintln(os.Stderr, line)
		if len(l.summary.Failures) < 10 {
			l.summary.Failures = append(l.summary.Failures, line)
		}
	}
}

// stream asks for one generation and reads it to its end, in whatever way that comes.
func (l *loader) stream() (verdict, error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	silent := time.AfterFunc(l.silence, func() { cancel(errors.New("no byte any more")) })
	defer silent.Stop()
	body, _ := json.Marshal(object{"model": l.model, "prompt": "Say it.", "max_tokens": l.tokens, "ignore_eos": true, "stream": true,
		"stream_options": object{"include_usage": true}})
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, l.url+"/v1/completions", bytes.NewReader(body))
	if err != nil {
		return refused, err
	}
	post.Header.Set("Content-Type", "application/json")
	response, err := l.client.Do(post)
	if err != nil {
		return refused, errors.Join(err, context.Cause(ctx))
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(response.Body, 500))
		return refused, fmt.Errorf("%s: %s", response.Status, text)
	}
	if err := l.read(response.Body, silent); err != nil {
		return truncated, errors.Join(err, context.Cause(ctx))
	}
	return wholeStream, nil
}

// part is one event of a stream.
type part struct {
	Error   json.RawMessage
	Choices []struct {
		Text   string
		Finish string `json:"finish_reason"`
	}
	Usage struct {
		Tokens int `json:"completion_tokens"`
	}
}

// read is nil for a whole stream. Neither status nor end marker tells a cut one: the count of tokens and finish_reason do. Events
// are no tokens: a real engine sends empty ones, and several tokens in one.
func (l *loader) read(body io.Reader, silent *time.Timer) error {
	lines := bufio.NewScanner(body)
	events, tokens, reason, before := 0, 0, "", time.Now()
	for lines.Scan() {
		event, found := strings.CutPrefix(lines.Text(), "data: ")
		if !found {
			continue
		}
		silent.Reset(l.silence)
		if event == "[DONE]" {
			break
		}
		var p part
		if err := json.Unmarshal([]byte(event), &p); err != nil || p.Error != nil {
			return fmt.Errorf("after %d events: %w %s", events, cmp.Or(err, errors.New("error event")), p.Error)
		}
		if len(p.Choices) > 0 {
			events++
			l.sawEvent(events, time.Since(before))
			before = time.Now()
			reason = cmp.Or(p.Choices[0].Finish, reason)
		}
		tokens = max(tokens, p.Usage.Tokens)
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("after %d events: %w", events, err)
	}
	if tokens != l.tokens || reason != "length" || !strings.HasSuffix(lines.Text(), "[DONE]") {
		return fmt.Errorf("%d events, %d of %d tokens, finish_reason %q, last line %q", events, tokens, l.tokens, reason, lines.Text())
	}
	return nil
}

// sawEvent says once, on standard output, that streams flow.
func (l *loader) sawEvent(count int, pause time.Duration) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.summary.Longest = max(l.summary.Longest, pause.Seconds())
	if count == 1 {
		if l.summary.Begun++; l.summary.Begun == 1 {
			fmt.Println("streaming")
		}
	}
}
