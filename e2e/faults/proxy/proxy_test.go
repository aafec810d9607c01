package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

const whole = `{"kind":"ConfigMap","metadata":{"name":"m"}}`

// world is a proxy before a server that counts, with one fate for every request.
type world struct {
	proxy   *proxy
	front   *httptest.Server
	log     strings.Builder
	reached atomic.Int32
	limit   atomic.Value // of the last list
}

func newWorld(t *testing.T, destined fate) *world {
	w := &world{}
	back := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		w.reached.Add(1)
		w.limit.Store(in.URL.Query().Get("limit"))
		if in.URL.Query().Get("watch") == "" {
			io.WriteString(out, whole)
			return
		}
		for range 3 {
			io.WriteString(out, whole+"\n")
			out.(http.Flusher).Flush()
		}
		<-in.Context().Done()
	}))
	t.Cleanup(back.Close)
	target, _ := url.Parse(back.URL)
	w.proxy = newProxy(target, &tls.Config{}, newOracle(1), &w.log)
	w.proxy.ask = func(request) fate { return destined }
	w.front = httptest.NewUnstartedServer(w.proxy)
	w.front.StartTLS()
	t.Cleanup(w.front.CloseClientConnections)
	return w
}

// get returns the status (0: none came), the body, and how its reading ended. A silent server is left as soon as its
// fault is in the log.
func (w *world) get(path string) (int, string, error) {
	ctx, leave := context.WithCancel(context.Background())
	defer leave()
	go func() {
		for ctx.Err() == nil && !strings.Contains(w.logged(), string(frozen)) && !strings.Contains(w.logged(), string(frozenWatch)) {
			time.Sleep(time.Millisecond)
		}
		leave()
	}()
	asked, _ := http.NewRequestWithContext(ctx, http.MethodGet, w.front.URL+path, nil)
	answer, err := w.front.Client().Do(asked)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(body), err
}

func (w *world) logged() string {
	w.proxy.mutex.Lock()
	defer w.proxy.mutex.Unlock()
	return w.log.String()
}

func TestEachFaultOfACallIsWhatItsNameSays(t *testing.T) {
	for _, each := range []struct {
		fault   fault
		reached int32
		code    int
		good    func(body string, err error) bool
	}{
		{none, 1, 200, func(body string, err error) bool { return body == whole && err == nil }},
		{late, 1, 200, func(body string, err error) bool { return body == whole && err == nil }},
		{dropped, 0, 0, func(_ string, err error) bool { return err != nil }},
		{lost, 1, 0, func(_ string, err error) bool { return err != nil }},
		{frozen, 1, 0, func(_ string, err error) bool { return err != nil }},
		{tooMany, 0, 429, func(body string, _ error) bool { return strings.Contains(body, `"code":429`) }},
		{broken, 0, 500, func(body string, _ error) bool { return strings.Contains(body, `"kind":"Status"`) }},
		{brokenEmpty, 0, 500, func(body string, _ error) bool { return body == "" }},
		{brokenDone, 1, 500, func(body string, _ error) bool { return strings.Contains(body, `"kind":"Status"`) }},
		{unavailable, 0, 503, func(body string, _ error) bool { return strings.Contains(body, `"code":503`) }},
		{unavailableEmpty, 0, 503, func(body string, _ error) bool { return body == "" }},
		{conflict, 0, 409, func(body string, _ error) bool { return strings.Contains(body, `"Conflict"`) }},
		{expired, 0, 410, func(body string, _ error) bool { return strings.Contains(body, `"Expired"`) }},
		{truncated, 1, 200, func(body string, err error) bool { return err != nil && len(body) <= len(whole)/2 }},
		{incomplete, 1, 200, func(body string, err error) bool { return err == nil && body == whole[:len(whole)/2] }},
		{garbage, 1, 200, func(body string, err error) bool { return err == nil && body[0] == 0xff && len(body) > 400 }},
	} {
		w := newWorld(t, fate{fault: each.fault, after: 50 * time.Millisecond})
		code, body, err := w.get("/api/v1/namespaces/n/configmaps/m")
		if code != each.code || w.reached.Load() != each.reached || !each.good(body, err) {
			t.Errorf("%q: %d, %d requests, %q, %v", each.fault, code, w.reached.Load(), body, err)
		}
		if each.fault != none && !strings.HasSuffix(w.logged(), "GET configmaps: "+string(each.fault)+"\n") {
			t.Errorf("%q is logged as %q", each.fault, w.logged())
		}
	}
}

func TestEachFaultOfAWatchComesAfterTheLinesThatWork(t *testing.T) {
	for _, each := range []struct {
		fault fault
		good  func(rest string, err error) bool
	}{
		{cutInLine, func(rest string, err error) bool { return err != nil && rest == whole[:(len(whole)+1)/2] }},
		{halfClosed, func(rest string, err error) bool { return err != nil && rest == "" }},
		{endedEarly, func(rest string, err error) bool { return err == nil && rest == "" }},
		{errorEvent, func(rest string, err error) bool { return err == nil && strings.Contains(rest, `"code":410`) }},
		{garbageLine, func(rest string, err error) bool { return err == nil && rest[0] == 0xff }},
		{frozenWatch, func(rest string, err error) bool { return err != nil && rest == "" }},
	} {
		w := newWorld(t, fate{fault: each.fault, lines: 2})
		code, body, err := w.get("/api/v1/configmaps?watch=true")
		rest, good := strings.CutPrefix(body, whole+"\n"+whole+"\n")
		if code != 200 || !good || !each.good(rest, err) {
			t.Errorf("%q: %d, %q, %v", each.fault, code, body, err)
		}
		if !strings.HasSuffix(w.logged(), "WATCH configmaps: "+string(each.fault)+"\n") {
			t.Errorf("%q is logged as %q", each.fault, w.logged())
		}
	}
}

func TestLinesOfAWatchPassAtOnce(t *testing.T) {
	w := newWorld(t, fate{})
	answer, err := w.front.Client().Get(w.front.URL + "/api/v1/configmaps?watch=1")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	reader := bufio.NewReader(answer.Body)
	for range 3 { // and the stream goes on
		if line, err := reader.ReadString('\n'); line != whole+"\n" {
			t.Fatal(line, err)
		}
	}
}

func TestAListComesInSmallPages(t *testing.T) {
	w := newWorld(t, fate{})
	if _, _, err := w.get("/api/v1/configmaps?limit=500"); err != nil || w.limit.Load() != "7" {
		t.Error(w.limit.Load(), err)
	}
}
