package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"inference-operator.dev/bench/sample"
)

// write is one finished write of a contestant, as the API server's audit log has it. The log is complete: a write stands
// in it before its answer leaves.
type write struct {
	Verb      string
	ObjectRef struct {
		Resource, Subresource, Namespace, Name string
	}
	ResponseStatus struct{ Code int }
	StageTimestamp time.Time
}

func (w *write) object() string {
	return w.ObjectRef.Resource + "/" + w.ObjectRef.Subresource + "/" + w.ObjectRef.Name
}

func (w *write) isEvent() bool { return w.ObjectRef.Resource == "events" }

// audit follows the log from where it was opened.
type audit struct {
	file   *os.File
	reader *bufio.Reader
	part   []byte // of a line that is not complete yet
	writes []write
}

func openAudit(path string) (*audit, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if _, err := file.Seek(0, io.SeekEnd); err != nil {
		return nil, err
	}
	return &audit{file: file, reader: bufio.NewReaderSize(file, 1<<20)}, nil
}

func (a *audit) close() { a.file.Close() }

// read takes in what is new.
func (a *audit) read() error {
	for {
		line, err := a.reader.ReadBytes('\n')
		a.part = append(a.part, line...)
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		var w write
		if err := json.Unmarshal(a.part, &w); err != nil {
			return fmt.Errorf("audit log: %w", err)
		}
		a.part = a.part[:0]
		if w.ObjectRef.Namespace == sample.Namespace {
			a.writes = append(a.writes, w)
		}
	}
}

// awaitModels waits until all children and a status of each of `count` models are written and nothing has been written for
// `quiet`. It returns the time of the last of them, and all writes until then.
func (a *audit) awaitModels(ctx context.Context, count, children int, quiet time.Duration, alive func() error) (time.Time, []write, error) {
	done := map[string]bool{}
	var complete time.Time
	seen, last := 0, time.Now()
	for complete.IsZero() || time.Since(last) < quiet {
		if err := a.read(); err != nil {
			return complete, nil, err
		}
		for ; seen < len(a.writes); seen++ {
			w := &a.writes[seen]
			last = time.Now()
			if w.isEvent() || w.ResponseStatus.Code >= 300 || done[w.object()] {
				continue
			}
			done[w.object()] = true
			if len(done) == count*(children+1) {
				complete = w.StageTimestamp
			}
		}
		if err := alive(); err != nil && complete.IsZero() {
			return complete, nil, fmt.Errorf("after %d of %d writes: %w", len(done), count*(children+1), err)
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return complete, nil, fmt.Errorf("after %d of %d writes: %w", len(done), count*(children+1), err)
		}
	}
	return complete, a.writes, nil
}

// awaitQuiet waits until nothing has been written for `quiet`.
func (a *audit) awaitQuiet(ctx context.Context, quiet time.Duration) error {
	seen, last := len(a.writes), time.Now()
	for time.Since(last) < quiet {
		if err := a.read(); err != nil {
			return err
		}
		if len(a.writes) != seen {
			seen, last = len(a.writes), time.Now()
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}
