package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

type object = map[string]any

// routes are what each engine has, and no more: vLLM 0.32.0 answers 404 to GET /health/ready and POST /drain.
func (e *engine) routes() http.Handler {
	mux := http.NewServeMux()
	route := func(path string, methods []string, handle http.HandlerFunc) {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			if !slices.Contains(methods, r.Method) {
				reply(w, http.StatusMethodNotAllowed, object{"detail": "Method Not Allowed"})
				return
			}
			handle(w, r)
		})
	}
	get, post := []string{http.MethodGet}, []string{http.MethodPost}
	route("/health", get, e.health)
	route("/v1/models", get, e.models)
	route("/v1/completions", post, func(w http.ResponseWriter, r *http.Request) { e.complete(w, r, false) })
	route("/v1/chat/completions", post, func(w http.ResponseWriter, r *http.Request) { e.complete(w, r, true) })
	route("/counters", get, func(w http.ResponseWriter, _ *http.Request) { reply(w, http.StatusOK, e.journal.sums()) }) // of no real engine
	switch e.kind {
	case vllm:
		route("/ping", append(get, post...), e.health)
		route("/load", get, e.load)
		route("/version", get, func(w http.ResponseWriter, _ *http.Request) { reply(w, http.StatusOK, object{"version": "0.32.0"}) })
		route("/metrics", get, e.metrics)
	case sglang:
		route("/ready", get, e.ready)
		route("/health_generate", get, e.health)
		if e.given.metrics {
			route("/metrics", get, e.metrics)
		}
	case generic:
		route("/health/ready", get, e.ready)
		route("/drain", post, e.drain)
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusNotFound, object{"detail": "Not Found"})
	})
	return mux
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(body)
}

// health. vLLM 0.32.0: 503 only once the model is dead, 200 in the whole drain. SGLang 0.5.23: 503 from SIGTERM on, and else it
// generates one token, for which it waits up to 20 s.
func (e *engine) health(w http.ResponseWriter, r *http.Request) {
	status := http.StatusOK
	if now := e.now(); now == dead || now == draining && e.kind == sglang {
		status = http.StatusServiceUnavailable
	} else if e.kind == sglang && !e.generatesOne(r) {
		status = http.StatusServiceUnavailable
	}
	w.WriteHeader(status)
}

func (e *engine) generatesOne(r *http.Request) bool {
	probe, core := newGeneration(1, 1), e.choose()
	core.add(probe)
	defer core.drop(probe)
	select {
	case <-probe.news:
		return true
	case <-time.After(20 * time.Second):
	case <-r.Context().Done():
	}
	return false
}

// ready is SGLang 0.5.23's /ready and the contract's /health/ready: cheap, and no while it drains.
func (e *engine) ready(w http.ResponseWriter, _ *http.Request) {
	if e.now() != serving {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
}

// drain is the contract's: it answers when the last request has ended.
func (e *engine) drain(w http.ResponseWriter, r *http.Request) {
	e.become(draining)
	for e.count() > 0 {
		select {
		case <-r.Context().Done():
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
	reply(w, http.StatusOK, object{"drained": true})
}

// load is vLLM's. Always 0 without --enable-server-load-tracking; with it, exact from the moment a request is accepted.
func (e *engine) load(w http.ResponseWriter, _ *http.Request) {
	count := 0
	if e.given.loadTracking {
		count = e.count()
	}
	reply(w, http.StatusOK, object{"server_load": count})
}

func (e *engine) models(w http.ResponseWriter, _ *http.Request) {
	reply(w, http.StatusOK, object{"object": "list", "data": []object{{
		"id": e.given.servedName, "object": "model", "created": time.Now().Unix(), "owned_by": string(e.kind), "root": e.given.model,
		"max_model_len": e.given.modelLength,
	}}})
}

// metrics have a series for each core. vLLM 0.32.0 has none at all with --disable-log-stats, and with several API servers none before
// the first request.
func (e *engine) metrics(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=1.0.0; charset=utf-8")
	sums := e.journal.sums()
	if e.kind == vllm && (e.given.silentStats || e.given.apiServers > 1 && sums.Begun == 0) {
		return
	}
	prefix, running, waiting := "vllm:", "num_requests_running", "num_requests_waiting"
	if e.kind == sglang {
		prefix, running, waiting = "sglang:", "num_running_reqs", "num_queue_reqs"
	}
	var out strings.Builder
	family := func(name, kind, help string, value func(g gauges) int, more string) {
		fmt.Fprintf(&out, "# HELP %s%s %s\n# TYPE %s%s %s\n", prefix, name, help, prefix, name, kind)
		for index, each := range e.cores {
			fmt.Fprintf(&out, "%s%s{%s%s} %d.0\n", prefix, name, e.labels(index), more, value(each.gauges()))
		}
	}
	family(running, "gauge", "Number of requests in model execution batches.", func(g gauges) int { return g.running }, "")
	family(waiting, "gauge", "Number of requests waiting to be processed.", func(g gauges) int { return g.waiting }, "")
	if e.kind == vllm {
		// A name that begins as the one above: who looks for a prefix counts twice.
		family(waiting+"_by_reason", "gauge", "Number of waiting requests by reason.", func(g gauges) int { return g.waiting }, `,reason="capacity"`)
		family("request_success_total", "counter", "Count of successfully processed requests.",
			func(gauges) int { return sums.Finished }, `,finished_reason="length"`)
	}
	w.Write([]byte(out.String()))
}

func (e *engine) labels(index int) string {
	if e.kind == vllm {
		return fmt.Sprintf(`engine="%d",model_name="%s"`, index, e.given.servedName)
	}
	labels := fmt.Sprintf(`engine_type="unified",model_name="%s",pp_rank="0",tp_rank="0"`, e.given.servedName)
	if len(e.cores) > 1 {
		labels += fmt.Sprintf(`,dp_rank="%d"`, index)
	}
	return labels
}

func (e *engine) choose() *core { return e.cores[int((e.next.Add(1)-1)%uint64(len(e.cores)))] }
