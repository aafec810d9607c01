package main

import (
	"cmp"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// phase is where an engine is in its life, once it listens.
type phase int

const (
	serving  phase = iota
	draining       // finishes what is in flight
	dead           // the model is gone, the HTTP server still there
)

// engine is the whole program: cores behind an HTTP server.
type engine struct {
	kind    kind
	given   arguments
	set     settings
	journal *journal
	cores   []*core
	next    atomic.Uint64 // core for the next request
	stalled atomic.Bool   // the cores are frozen
	server  *http.Server
	door    net.Listener
	over    chan int // an exit code that no signal asked for

	mutex    sync.Mutex
	phase    phase
	inFlight int
	changed  chan struct{} // of capacity 1: less is in flight

	farewell  string        // error or abort: how streams end when lastWords is closed
	lastWords chan struct{} // closed once
}

func newEngine(which kind, given arguments, set settings, record *journal) *engine {
	e := &engine{kind: which, given: given, set: set, journal: record, over: make(chan int, 1), changed: make(chan struct{}, 1),
		lastWords: make(chan struct{})}
	for range max(1, given.engines) {
		e.cores = append(e.cores, newCore(which, given.seats, set))
	}
	// uvicorn, which both engines use, closes a connection that is idle for 5 s.
	e.server = &http.Server{Handler: e.routes(), IdleTimeout: 5 * time.Second}
	return e
}

// live is the whole life, and its exit code.
func (e *engine) live() int {
	e.journal.note(started, "%s pid %d", e.kind, os.Getpid())
	code := e.liveOn()
	e.journal.note(ended, "exit code %d", code)
	return code
}

func (e *engine) liveOn() int {
	if code, over := e.importAll(); over {
		return code
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	group, err := e.meet()
	if err != nil {
		e.journal.note(ended, "%s", err)
		return 1
	}
	if code, over := e.loadModel(signals, group); over {
		return code
	}
	if e.isWorker() {
		return e.followRank0(signals, group)
	}
	if e.door, err = net.Listen("tcp", net.JoinHostPort(e.given.host, strconv.Itoa(e.given.port))); err != nil {
		e.journal.note(ended, "%s", err)
		return 1
	}
	for _, each := range e.cores {
		go each.work()
	}
	go e.server.Serve(e.door)
	e.journal.note(ready, "port %d", e.given.port)
	go e.mourn(group)
	return e.obey(signals)
}

// importAll is the time in which the program does not mind SIGTERM. Python handles SIGINT from its start, and leaves SIGTERM to the
// kernel: for any process it is the end (vLLM 0.32.0: exit code 143 in the first 10 s), but process 1 of a container never gets a
// signal that it has no handler for. SGLang 0.5.23 has one only once it serves.
func (e *engine) importAll() (code int, over bool) {
	deaf := e.set.imports
	if e.kind == sglang {
		deaf += e.set.load
	}
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	if os.Getpid() == 1 {
		signal.Ignore(syscall.SIGTERM)
	}
	select {
	case <-interrupts:
		e.journal.note(signaled, "interrupt, while it imports")
		return 130, true
	case <-time.After(deaf):
		return 0, false
	}
}

// loadModel takes its time, and until all ranks are there. In vLLM 0.32.0 the first SIGTERM of that time is lost, since the
// KeyboardInterrupt that its handler raises is caught elsewhere: it loads on and serves, or it waits for ever. The second ends it.
func (e *engine) loadModel(signals <-chan os.Signal, group *group) (code int, over bool) {
	if e.kind == sglang {
		return 0, false // see importAll
	}
	loaded, met := time.After(e.set.load), group.met
	for count := 0; loaded != nil || met != nil || count > 0 && e.set.loading == "wedged"; {
		select {
		case which := <-signals:
			e.journal.note(signaled, "%s, while it loads", which)
			if count++; count == 2 || e.kind == generic {
				return 130, true
			}
		case <-loaded:
			loaded = nil
		case <-met:
			met = nil
		}
	}
	return 0, false
}

// obey waits for the signal, or for a death without one.
func (e *engine) obey(signals <-chan os.Signal) int {
	select {
	case code := <-e.over:
		return code
	case which := <-signals:
		e.journal.note(signaled, "%s, with %d in flight", which, e.count())
	}
	switch e.kind {
	case vllm:
		return e.shutDown()
	case sglang:
		return e.drainForEver()
	default:
		return 0 // the contract's drain is POST /drain: what is in flight now is cut
	}
}

// shutDown is vLLM 0.32.0 after SIGTERM, with one API server. Its health stays 200 to the end of a drain.
func (e *engine) shutDown() int {
	if e.given.shutdownTimeout > 0 {
		e.become(draining)
		if !e.idleWithin(e.given.shutdownTimeout) {
			return e.hang() // seen in 2 of 2 runs
		}
		time.Sleep(e.set.teardown)
		return 0
	}
	if e.count() == 0 {
		e.closeDoor()
		time.Sleep(min(e.set.teardown, 500*time.Millisecond))
		return 0
	}
	if e.set.inFlight == "hang" {
		return e.hang()
	}
	e.closeDoor()
	e.endStreams(e.set.inFlight)
	e.idleWithin(e.set.teardown)
	time.Sleep(400 * time.Millisecond)
	return 0
}

// hang is vLLM 0.32.0 in 4 of 9 runs with requests in flight: the port is refused, streams stay open and silent, further signals do
// nothing, and the end comes with SIGKILL or when the last client has gone.
func (e *engine) hang() int {
	e.closeDoor()
	e.freeze()
	e.idleWithin(-1)
	time.Sleep(300 * time.Millisecond)
	return 0
}

// drainForEver is SGLang 0.5.23 after SIGTERM: it serves on, with 503 from /health and /ready, and looks every 5 s whether
// anything is in flight.
func (e *engine) drainForEver() int {
	e.become(draining)
	for {
		time.Sleep(e.set.teardown)
		if e.count() == 0 {
			return 0
		}
	}
}

// mourn ends the engine some time after a rank was lost. vLLM 0.32.0: streams stop at once, /health is 200 for 9 s more, then come the
// error events and 503, and 2 s later the exit, with code 0.
func (e *engine) mourn(group *group) {
	<-group.lost
	e.journal.note(signaled, "a rank is lost, with %d in flight", e.count())
	e.freeze()
	time.Sleep(e.set.lostRank)
	e.become(dead)
	e.endStreams("error")
	time.Sleep(2 * time.Second)
	e.over <- 0
}

// closeDoor refuses new connections, and closes those that are idle.
func (e *engine) closeDoor() {
	e.door.Close()
	e.server.SetKeepAlivesEnabled(false)
}

func (e *engine) freeze() {
	if e.stalled.Swap(true) {
		return
	}
	for _, each := range e.cores {
		close(each.frozen)
	}
}

// endStreams ends what is in flight with an error event or a reason "abort".
func (e *engine) endStreams(how string) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if e.farewell == "" {
		e.farewell = cmp.Or(how, "error")
		close(e.lastWords)
	}
}

func (e *engine) become(next phase) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	e.phase = max(e.phase, next)
}

func (e *engine) now() phase {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	return e.phase
}

// enter counts a request in, unless the engine takes none any more.
func (e *engine) enter() bool {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if e.phase == dead || e.phase == draining && e.kind != sglang {
		return false
	}
	e.inFlight++
	return true
}

func (e *engine) leave() {
	e.mutex.Lock()
	e.inFlight--
	e.mutex.Unlock()
	select {
	case e.changed <- struct{}{}:
	default:
	}
}

func (e *engine) count() int {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	return e.inFlight
}

// idleWithin waits until nothing is in flight; a negative limit is none.
func (e *engine) idleWithin(limit time.Duration) bool {
	var late <-chan time.Time
	if limit >= 0 {
		late = time.After(limit)
	}
	for e.count() > 0 {
		select {
		case <-e.changed:
		case <-late:
			return false
		}
	}
	return true
}
