package main

import (
	"hash/fnv"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// fault is one thing that can go wrong; its text is what the log says.
type fault string

const (
	none fault = ""
	late fault = "passed on late"

	// The API server never hears of the request.
	dropped          fault = "connection dropped, not sent on"
	tooMany          fault = "429 with Retry-After"
	broken           fault = "500 with a Status"
	brokenEmpty      fault = "500 without a body"
	unavailable      fault = "503 with a Status and Retry-After"
	unavailableEmpty fault = "503 without a body"
	conflict         fault = "409"
	expired          fault = "410"
	noStreams        fault = "422, as a server without streamed lists"

	// The API server has done what was asked; the answer suffers.
	lost       fault = "done, answer lost"
	frozen     fault = "done, then silence"
	brokenDone fault = "done, yet 500"
	truncated  fault = "done, answer cut off in the middle"
	incomplete fault = "done, half an answer as if it were whole"
	garbage    fault = "done, garbage for an answer"

	// In the midst of a watch.
	cutInLine   fault = "watch cut in the middle of a line"
	halfClosed  fault = "watch half closed"
	endedEarly  fault = "watch ended by the server"
	frozenWatch fault = "watch frozen"
	errorEvent  fault = "watch with a 410 ERROR event"
	garbageLine fault = "watch with a garbage line"
)

// How often. A reconcile makes about ten calls and starts over after a failed one, so the calls must mostly work.
const (
	callFaults  = 0.13
	openFaults  = 0.25
	watchFaults = 0.7
)

var (
	ofAnyRequest = []fault{dropped, tooMany, broken, brokenEmpty, unavailable, unavailableEmpty, late, late}
	ofCalls      = append([]fault{lost, lost, lost, brokenDone, truncated, incomplete, garbage}, ofAnyRequest...)
	ofWatches    = []fault{cutInLine, cutInLine, halfClosed, endedEarly, errorEvent, errorEvent, garbageLine}
)

// A frozen call takes a client half a minute to give up, a frozen watch one and a half: they must be rare among the
// others, or a run would be nothing but waiting.
const frozenShare = 0.02

// request is what the choice of a fault depends on.
type request struct {
	verb     string // GET, LIST, WATCH, POST, PATCH, DELETE
	resource string // with its subresource
	streamed bool   // a watch that is to begin with the whole list
	further  bool   // a list's second or later page
}

func (r request) String() string { return r.verb + " " + r.resource }

// describe reads the API server's URLs: /api/v1/… or /apis/GROUP/VERSION/…, then [namespaces/NAME/]RESOURCE[/NAME[/SUB]].
func describe(r *http.Request) request {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	prefix := map[string]int{"api": 2, "apis": 3}[parts[0]]
	parts = parts[min(prefix, len(parts)):]
	if len(parts) > 2 && parts[0] == "namespaces" {
		parts = parts[2:]
	}
	query := r.URL.Query()
	d := request{verb: r.Method, streamed: query.Get("sendInitialEvents") == "true", further: query.Get("continue") != ""}
	if len(parts) > 0 {
		d.resource = parts[0]
	}
	if len(parts) > 2 {
		d.resource += "/" + parts[2]
	}
	switch watch := query.Get("watch"); {
	case watch == "true" || watch == "1":
		d.verb = "WATCH"
	case r.Method == http.MethodGet && len(parts) == 1 && prefix > 0:
		d.verb = "LIST"
	}
	return d
}

// fate is what one request meets with.
type fate struct {
	fault fault
	after time.Duration // how late; of a watch: how long it works
	lines int           // of a watch: how many lines it passes on before, when not 0; then `after` does not count
}

// oracle says what happens to the n-th request of each verb and resource. The answers for one kind of request do not
// depend on how many others came in between, so a seed repeats as far as the client does.
type oracle struct {
	calm  atomic.Bool // no more faults
	seed  uint64
	mutex sync.Mutex
	ofOne map[string]*rand.Rand
}

func newOracle(seed uint64) *oracle { return &oracle{seed: seed, ofOne: map[string]*rand.Rand{}} }

func (o *oracle) ask(r request) fate {
	if o.calm.Load() {
		return fate{}
	}
	o.mutex.Lock()
	defer o.mutex.Unlock()
	dice := o.ofOne[r.String()]
	if dice == nil {
		name := fnv.New64a()
		name.Write([]byte(r.String())) // never fails
		dice = rand.New(rand.NewPCG(o.seed, name.Sum64()))
		o.ofOne[r.String()] = dice
	}
	if r.verb == "WATCH" {
		return fateOfWatch(r, dice)
	}
	return fateOfCall(r, dice)
}

func fateOfCall(r request, dice *rand.Rand) fate {
	if dice.Float64() >= callFaults {
		return fate{}
	}
	// The operator under test has a lease of an hour and waits for an answer about it for half of that.
	if dice.Float64() < frozenShare && r.resource != "leases" {
		return fate{fault: frozen}
	}
	menu := ofCalls
	if r.verb == http.MethodPatch {
		menu = append([]fault{conflict, conflict}, menu...)
	}
	if r.further {
		menu = append([]fault{expired, expired, expired, expired}, menu...)
	}
	return fate{fault: menu[dice.IntN(len(menu))], after: between(dice, 100*time.Millisecond, 3*time.Second)}
}

func fateOfWatch(r request, dice *rand.Rand) fate {
	after := between(dice, 100*time.Millisecond, 3*time.Second)
	if dice.Float64() < openFaults {
		menu := append([]fault{expired}, ofAnyRequest...)
		if r.streamed {
			menu = append([]fault{noStreams, noStreams, noStreams}, menu...)
		}
		return fate{fault: menu[dice.IntN(len(menu))], after: after}
	}
	if dice.Float64() >= watchFaults {
		return fate{}
	}
	chosen := fate{fault: ofWatches[dice.IntN(len(ofWatches))]}
	if dice.Float64() < 2*frozenShare {
		chosen.fault = frozenWatch
	}
	if dice.IntN(2) == 0 {
		chosen.lines = 1 + dice.IntN(30) // also in the midst of a streamed list
	} else {
		chosen.after = between(dice, 500*time.Millisecond, 10*time.Second)
	}
	return chosen
}

func between(dice *rand.Rand, low, high time.Duration) time.Duration {
	return low + time.Duration(dice.Int64N(int64(high-low)))
}
