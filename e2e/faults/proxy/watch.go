package main

import (
	"bufio"
	"io"
	"net/http"
	"time"
)

// inWatch are the faults that befall a running watch.
var inWatch = map[fault]bool{cutInLine: true, halfClosed: true, endedEarly: true, frozenWatch: true, errorEvent: true, garbageLine: true}

// watch passes a stream on line by line until its fault comes.
func (p *proxy) watch(w http.ResponseWriter, r *http.Request, answer *http.Response, what request, destined fate) {
	copyHeaders(w.Header(), answer.Header)
	w.WriteHeader(answer.StatusCode)
	flush := http.NewResponseController(w).Flush
	flush()
	from := stream{lines: make(chan []byte)}
	go from.read(answer.Body, r.Context().Done())

	var due <-chan time.Time
	if inWatch[destined.fault] && destined.lines == 0 {
		due = time.After(destined.after)
	}
	cutNext := false
	for passed := 0; ; {
		select {
		case <-r.Context().Done():
			return
		case line, more := <-from.lines:
			if !more {
				if from.end != io.EOF {
					reset(w)
				}
				return
			}
			if cutNext {
				p.note(what, cutInLine)
				w.Write(line[:len(line)/2])
				flush()
				reset(w)
				return
			}
			w.Write(line)
			flush()
			passed++
			if passed != destined.lines {
				continue
			}
		case <-due:
		}
		if p.calm() {
			destined.fault = none
		}
		switch destined.fault {
		case none, late:
		case cutInLine:
			cutNext = true
		default:
			p.note(what, destined.fault)
			p.spoil(w, r, destined.fault)
			return
		}
	}
}

// spoil ends a stream, or at least all that comes of it.
func (p *proxy) spoil(w http.ResponseWriter, r *http.Request, happens fault) {
	switch happens {
	case frozenWatch:
		silence(w, r)
	case halfClosed:
		halfClose(w)
	case errorEvent:
		w.Write([]byte(`{"type":"ERROR","object":` + statusOf(expired) + "}\n"))
	case garbageLine:
		w.Write(append(rubbish(), '\n'))
	case endedEarly: // returning ends it in order
	}
}

// stream is what the API server sends.
type stream struct {
	lines chan []byte
	end   error // io.EOF when it ended in order; to be read after lines is closed
}

func (s *stream) read(from io.Reader, stop <-chan struct{}) {
	defer close(s.lines)
	for reader := bufio.NewReader(from); ; {
		var line []byte
		if line, s.end = reader.ReadBytes('\n'); s.end != nil {
			return
		}
		select {
		case s.lines <- line:
		case <-stop:
			return
		}
	}
}
