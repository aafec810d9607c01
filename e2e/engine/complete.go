package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// request is what is read of one; the rest of the API changes nothing here.
type request struct {
	Model     string
	Prompt    json.RawMessage
	Messages  json.RawMessage
	MaxTokens int `json:"max_tokens"`
	Longest   int `json:"max_completion_tokens"`
	Stream    bool
	Options   struct {
		Usage bool `json:"include_usage"`
	} `json:"stream_options"`
}

// answer is one generation on its way to its client.
type answer struct {
	e       *engine
	w       http.ResponseWriter
	r       *http.Request
	g       *generation
	request request
	chat    bool
	id      string
	sent    int
}

func (e *engine) complete(w http.ResponseWriter, r *http.Request, chat bool) {
	var asked request
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, &asked)
	}
	if err != nil {
		refuse(w, http.StatusBadRequest, "BadRequestError", err.Error())
		return
	}
	if e.kind == vllm && asked.Model != "" && asked.Model != e.given.servedName {
		refuse(w, http.StatusNotFound, "NotFoundError", fmt.Sprintf("The model `%s` does not exist.", asked.Model))
		return
	}
	if !e.enter() {
		e.refuseAtTheEnd(w)
		return
	}
	defer e.leave()
	limit := max(asked.MaxTokens, asked.Longest)
	if limit == 0 {
		limit = e.set.tokens
	}
	a := &answer{e: e, w: w, r: r, request: asked, chat: chat, g: newGeneration(len(asked.Prompt)+len(asked.Messages), min(limit, e.given.modelLength)),
		id: fmt.Sprintf("cmpl-%d", time.Now().UnixNano())}
	e.journal.note(begun, "%s of %d tokens", a.id, a.g.limit)
	core := e.choose()
	core.add(a.g)
	defer core.drop(a.g)
	a.run()
}

// refuseAtTheEnd. vLLM 0.32.0: a 500 within milliseconds, then that connection is closed. The contract: 503.
func (e *engine) refuseAtTheEnd(w http.ResponseWriter) {
	w.Header().Set("Connection", "close")
	if e.kind == vllm {
		refuse(w, http.StatusInternalServerError, "InternalServerError", "cannot schedule new futures after shutdown")
	} else {
		refuse(w, http.StatusServiceUnavailable, "Service Unavailable", "draining")
	}
}

func refuse(w http.ResponseWriter, status int, kind, message string) {
	reply(w, status, object{"error": object{"message": message, "type": kind, "param": nil, "code": status}})
}

// run sends what the core makes until all is sent, the client has left or the engine ends. The header leaves before the core has seen
// the request (vLLM 0.32.0: 13 s before), so it is no sign of admission.
func (a *answer) run() {
	if a.request.Stream {
		a.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		a.w.WriteHeader(http.StatusOK)
		http.NewResponseController(a.w).Flush()
	}
	for {
		select {
		case <-a.g.news:
			a.send()
			if a.sent == a.g.limit {
				a.finish()
				return
			}
		case <-a.r.Context().Done():
			a.lose()
			return
		case <-a.e.lastWords:
			a.cutOff()
			return
		}
	}
}

// send writes one event for each token that is new; the last one tells why it is the last.
func (a *answer) send() {
	for made := int(a.g.made.Load()); a.sent < made; {
		a.sent++
		if !a.request.Stream {
			continue
		}
		var reason any
		if a.sent == a.g.limit {
			reason = "length"
		}
		a.event(a.choice(" token", reason))
	}
}

func (a *answer) finish() {
	if a.request.Stream {
		if a.request.Options.Usage {
			last := a.head(a.object("chunk"))
			last["choices"], last["usage"] = []object{}, a.usage()
			a.event(last)
		}
		a.end()
	} else {
		a.whole("length")
	}
	a.e.journal.note(finished, "%s after %d tokens", a.id, a.sent)
}

// lose is a client that went away: by its own will, or since nothing came any more.
func (a *answer) lose() {
	what := left
	if a.e.stalled.Load() {
		what = cut
	}
	a.e.journal.note(what, "%s after %d tokens", a.id, a.sent)
}

// cutOff is what vLLM 0.32.0 does with requests in flight when it ends and does not hang. A stream still has its status of 200 and its
// end marker, and one that was aborted is told apart by finish_reason only.
func (a *answer) cutOff() {
	a.e.journal.note(cut, "%s after %d tokens", a.id, a.sent)
	const message = "EngineCore encountered an issue. See stack trace (above) for the root cause."
	aborted := a.e.farewell == "abort"
	switch {
	case !a.request.Stream && aborted:
		a.whole("abort")
	case !a.request.Stream:
		refuse(a.w, http.StatusInternalServerError, "InternalServerError", message)
	case aborted:
		a.event(a.choice("", "abort"))
		a.end()
	default:
		a.event(object{"error": object{"message": message, "type": "InternalServerError", "param": nil, "code": 500}})
		a.end()
	}
}

func (a *answer) event(body object) {
	content, _ := json.Marshal(body) // cannot fail: maps, lists and texts
	fmt.Fprintf(a.w, "data: %s\n\n", content)
	http.NewResponseController(a.w).Flush()
}

func (a *answer) end() {
	fmt.Fprint(a.w, "data: [DONE]\n\n")
	http.NewResponseController(a.w).Flush()
}

// choice is one event of a stream.
func (a *answer) choice(text string, reason any) object {
	choice := object{"index": 0, "logprobs": nil, "finish_reason": reason, "stop_reason": nil}
	if a.chat {
		choice["delta"] = object{"role": "assistant", "content": text}
	} else {
		choice["text"] = text
	}
	body := a.head(a.object("chunk"))
	body["choices"] = []object{choice}
	return body
}

// whole is an answer that is no stream.
func (a *answer) whole(reason string) {
	text := strings.Repeat(" token", a.sent)
	choice := object{"index": 0, "logprobs": nil, "finish_reason": reason, "stop_reason": nil}
	if a.chat {
		choice["message"] = object{"role": "assistant", "content": text}
	} else {
		choice["text"] = text
	}
	body := a.head(a.object(""))
	body["choices"], body["usage"] = []object{choice}, a.usage()
	reply(a.w, http.StatusOK, body)
}

// object is what the API calls an answer, or a part of a streamed one.
func (a *answer) object(part string) string {
	switch {
	case !a.chat:
		return "text_completion"
	case part != "":
		return "chat.completion." + part
	default:
		return "chat.completion"
	}
}

func (a *answer) head(kind string) object {
	return object{"id": a.id, "object": kind, "created": time.Now().Unix(), "model": a.e.given.servedName}
}

func (a *answer) usage() object {
	return object{"prompt_tokens": a.g.prompt, "completion_tokens": a.sent, "total_tokens": a.g.prompt + a.sent}
}
