package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// arguments are those that change what is seen from outside.
type arguments struct {
	model, servedName string
	host              string // empty: all interfaces
	port              int
	seats             int // requests in one batch
	modelLength       int // tokens of the longest request
	engines           int // data parallel ranks, each with series of its own
	apiServers        int
	shutdownTimeout   time.Duration
	loadTracking      bool
	silentStats       bool // no series of the engine's own
	metrics           bool // SGLang: whether /metrics is there
	headless          bool
	nodes, rank       int
	master            string   // host:port at which the ranks meet
	ignored           []string // all others
}

// option takes an argument's value; a switch gets none.
type option struct {
	isSwitch bool
	take     func(value string) error
}

func parseArguments(which kind, words []string) (arguments, error) {
	a := arguments{port: 8000, seats: 256, modelLength: 131072, engines: 1, apiServers: 1, nodes: 1}
	if which == sglang {
		a.host, a.port = "127.0.0.1", 30000 // SGLang 0.5.23: only with --host 0.0.0.0 does it serve others
	}
	masterPort := "29501" // vLLM 0.33.0: the default of --master-port
	known := a.options(which, &masterPort)
	for len(words) > 0 {
		word := words[0]
		words = words[1:]
		name, value, joined := strings.Cut(word, "=")
		each, found := known[name]
		follows := !joined && len(words) > 0 && !strings.HasPrefix(words[0], "--")
		switch {
		case !strings.HasPrefix(word, "-"):
			a.model = word
			continue
		case !found && follows, found && !each.isSwitch && !joined:
			if len(words) == 0 {
				return a, fmt.Errorf("argument %s: expected one argument", name)
			}
			value, words = words[0], words[1:]
		}
		if !found {
			a.ignored = append(a.ignored, strings.TrimSpace(name+" "+value))
		} else if err := each.take(value); err != nil {
			return a, fmt.Errorf("argument %s: %w", name, err)
		}
	}
	a.servedName = cmp.Or(a.servedName, a.model, "model")
	if which == generic {
		a.servedName = filepath.Base(a.servedName)
	}
	if a.master != "" && !strings.Contains(a.master, ":") {
		a.master += ":" + masterPort
	}
	return a, nil
}

// options are the arguments by their names. The rendered ones are all there or harmless.
func (a *arguments) options(which kind, masterPort *string) map[string]option {
	seconds := func(into *time.Duration) option {
		return option{take: func(value string) error {
			count, err := strconv.Atoi(value)
			if err != nil || count < 0 {
				return fmt.Errorf("invalid int value: '%s'", value)
			}
			*into = time.Duration(count) * time.Second
			return nil
		}}
	}
	common := map[string]option{
		"--served-model-name": text(&a.servedName), "--host": text(&a.host), "--port": number(&a.port),
		"--nnodes": number(&a.nodes), "--node-rank": number(&a.rank),
	}
	own := map[string]option{
		"--model": text(&a.model), "--max-num-seqs": number(&a.seats), "--max-model-len": number(&a.modelLength),
		"--data-parallel-size": number(&a.engines), "--api-server-count": number(&a.apiServers),
		"--shutdown-timeout": seconds(&a.shutdownTimeout), "--enable-server-load-tracking": toggle(&a.loadTracking),
		"--disable-log-stats": toggle(&a.silentStats), "--headless": toggle(&a.headless),
		"--master-addr": text(&a.master), "--master-port": text(masterPort),
	}
	if which == sglang {
		own = map[string]option{
			"--model-path": text(&a.model), "--max-running-requests": number(&a.seats), "--context-length": number(&a.modelLength),
			"--dp-size": number(&a.engines), "--enable-metrics": toggle(&a.metrics), "--dist-init-addr": text(&a.master),
		}
	}
	for name, each := range own {
		common[name] = each
	}
	return common
}

func text(into *string) option {
	return option{take: func(value string) error { *into = value; return nil }}
}

func number(into *int) option {
	return option{take: func(value string) error {
		count, err := strconv.Atoi(value)
		if err != nil || count < 0 {
			return fmt.Errorf("invalid int value: '%s'", value) // vLLM 0.32.0's words
		}
		*into = count
		return nil
	}}
}

func toggle(into *bool) option {
	return option{isSwitch: true, take: func(string) error { *into = true; return nil }}
}
