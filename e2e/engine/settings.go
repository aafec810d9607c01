package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// settings come by environment, since the command line is that of the real engine. Times are written as 1.5s or 20ms.
type settings struct {
	imports  time.Duration // FAKE_IMPORTS: from the start until the program minds SIGTERM. vLLM 0.32.0: about 10 s
	load     time.Duration // FAKE_LOAD: from then on, until it serves
	step     time.Duration // FAKE_STEP: one step, in which each running request gets one token
	prefill  time.Duration // FAKE_PREFILL: for each byte of a new prompt, the step takes that much longer. vLLM 0.32.0 on CPU: 217 µs
	teardown time.Duration // FAKE_TEARDOWN: from the last request to the exit, after --shutdown-timeout was waited for
	lostRank time.Duration // FAKE_LOST_RANK: from the loss of a rank until the engine is seen to be dead
	tokens   int           // FAKE_TOKENS: of a request that does not say max_tokens
	inFlight string        // FAKE_SIGTERM_IN_FLIGHT: what SIGTERM does to requests in flight, in vLLM: hang, error or abort
	loading  string        // FAKE_SIGTERM_LOADING: what the first SIGTERM does while it loads, in vLLM: lost or wedged
	journal  string        // FAKE_JOURNAL: a folder for a file that holds what happened, named as the host
}

func readSettings(environment func(string) string) (settings, error) {
	var first error
	duration := func(name string, otherwise time.Duration) time.Duration {
		value := environment(name)
		if value == "" {
			return otherwise
		}
		parsed, err := time.ParseDuration(value)
		if err != nil || parsed < 0 {
			first = cmp.Or(first, fmt.Errorf("%s: %q is no duration", name, value))
		}
		return parsed
	}
	choice := func(name string, allowed ...string) string {
		value := cmp.Or(environment(name), allowed[0])
		if !slices.Contains(allowed, value) {
			first = cmp.Or(first, fmt.Errorf("%s: %q is none of %s", name, value, strings.Join(allowed, ", ")))
		}
		return value
	}
	s := settings{
		imports: duration("FAKE_IMPORTS", 0), load: duration("FAKE_LOAD", 0), step: duration("FAKE_STEP", 20*time.Millisecond),
		prefill: duration("FAKE_PREFILL", 0), teardown: duration("FAKE_TEARDOWN", 5*time.Second),
		lostRank: duration("FAKE_LOST_RANK", 9*time.Second), tokens: 16,
		inFlight: choice("FAKE_SIGTERM_IN_FLIGHT", "hang", "error", "abort"),
		loading:  choice("FAKE_SIGTERM_LOADING", "lost", "wedged"),
		journal:  environment("FAKE_JOURNAL"),
	}
	if value := environment("FAKE_TOKENS"); value != "" {
		var err error
		if s.tokens, err = strconv.Atoi(value); err != nil || s.tokens < 1 {
			first = cmp.Or(first, fmt.Errorf("FAKE_TOKENS: %q is no count", value))
		}
	}
	return s, first
}
