package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"
)

// pageSize is the most that a page of a list gets: with the hundreds that clients ask for, no list here would have a
// second page.
const pageSize = 7

// proxy passes requests on to one API server, with the faults that its oracle names.
type proxy struct {
	target *url.URL
	to     http.RoundTripper
	ask    func(request) fate
	calm   func() bool

	mutex sync.Mutex
	log   io.Writer
	count int
	began time.Time
}

func newProxy(target *url.URL, trust *tls.Config, o *oracle, log io.Writer) *proxy {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &proxy{
		target: target,
		to:     &http.Transport{TLSClientConfig: trust, Protocols: protocols, DisableCompression: true, MaxIdleConnsPerHost: 32},
		ask:    o.ask,
		calm:   o.calm.Load,
		log:    log,
		began:  time.Now(),
	}
}

// note counts a fault, right before it happens.
func (p *proxy) note(r request, what fault) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.count++
	fmt.Fprintf(p.log, "%d %.1fs %s: %s\n", p.count, time.Since(p.began).Seconds(), r, what)
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	what := describe(r)
	destined := p.ask(what)
	if p.refused(w, what, destined.fault) {
		return
	}
	if destined.fault == late {
		p.note(what, late)
		pause(r.Context(), destined.after)
	}
	answer, err := p.pass(r)
	if err != nil { // the API server is down
		reset(w)
		return
	}
	defer answer.Body.Close()
	if what.verb == "WATCH" && answer.StatusCode == http.StatusOK {
		p.watch(w, r, answer, what, destined)
	} else {
		p.answer(w, r, answer, what, destined.fault)
	}
}

// refused answers instead of the API server, when that is the fault.
func (p *proxy) refused(w http.ResponseWriter, what request, happens fault) bool {
	if happens != dropped && !slices.Contains(invented, happens) {
		return false
	}
	p.note(what, happens)
	if happens == dropped {
		reset(w)
	} else {
		invent(w, happens)
	}
	return true
}

// pass sends the request on and returns the answer's beginning.
func (p *proxy) pass(r *http.Request) (*http.Response, error) {
	out := r.Clone(r.Context())
	out.URL.Scheme, out.URL.Host, out.Host, out.RequestURI = p.target.Scheme, p.target.Host, "", ""
	out.Header.Del("Connection")
	query := out.URL.Query()
	if limit, err := strconv.Atoi(query.Get("limit")); err == nil && limit > pageSize {
		query.Set("limit", strconv.Itoa(pageSize))
		out.URL.RawQuery = query.Encode()
	}
	return p.to.RoundTrip(out)
}

// answer hands a whole answer back, or what the fault leaves of it.
func (p *proxy) answer(w http.ResponseWriter, r *http.Request, answer *http.Response, what request, happens fault) {
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		reset(w)
		return
	}
	if slices.Contains(afterwards, happens) {
		p.note(what, happens)
	}
	half := body[:len(body)/2]
	switch happens {
	case lost:
		reset(w)
		return
	case frozen:
		silence(w, r)
		return
	case brokenDone:
		invent(w, broken)
		return
	case incomplete:
		body = half
	case garbage:
		body = rubbish()
	}
	copyHeaders(w.Header(), answer.Header)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(answer.StatusCode)
	if happens == truncated {
		body = half
	}
	io.Copy(w, bytes.NewReader(body)) // an error here is the client's
	if happens == truncated {
		http.NewResponseController(w).Flush()
		reset(w)
	}
}

// afterwards are the faults that befall an answer.
var afterwards = []fault{lost, frozen, brokenDone, truncated, incomplete, garbage}

func copyHeaders(to, from http.Header) {
	for name, values := range from {
		if name != "Content-Length" && name != "Connection" && name != "Transfer-Encoding" {
			to[name] = values
		}
	}
}

func pause(ctx context.Context, how time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(how):
	}
}
