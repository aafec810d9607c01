package main

import (
	"bytes"
	"crypto/rand"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// invented are the faults that are answers of our own.
var invented = []fault{tooMany, broken, brokenEmpty, unavailable, unavailableEmpty, conflict, expired, noStreams}

func codeOf(answer fault) int {
	switch answer {
	case tooMany:
		return http.StatusTooManyRequests
	case unavailable, unavailableEmpty:
		return http.StatusServiceUnavailable
	case conflict:
		return http.StatusConflict
	case expired:
		return http.StatusGone
	case noStreams:
		return http.StatusUnprocessableEntity
	}
	return http.StatusInternalServerError
}

// statusOf is the v1 Status with which the API server says so.
func statusOf(answer fault) string {
	reason := map[int]string{429: "TooManyRequests", 503: "ServiceUnavailable", 409: "Conflict", 410: "Expired", 422: "Invalid", 500: "InternalError"}
	code := codeOf(answer)
	return fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"an injected fault","reason":%q,"code":%d}`,
		reason[code], code)
}

func invent(w http.ResponseWriter, answer fault) {
	if answer == tooMany || answer == unavailable {
		w.Header().Set("Retry-After", "1")
	}
	if answer == brokenEmpty || answer == unavailableEmpty {
		w.Header().Set("Content-Length", "0")
		w.WriteHeader(codeOf(answer))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(codeOf(answer))
	io.WriteString(w, statusOf(answer))
}

// rubbish is no JSON, no UTF-8 and no line. What it is does not depend on the seed; nobody understands it anyway.
func rubbish() []byte {
	bytesOf := make([]byte, 500)
	rand.Read(bytesOf) // never fails, says its documentation
	return append([]byte{0xff}, bytes.ReplaceAll(bytesOf, []byte{'\n'}, []byte{0})...)
}

// reset ends the connection without a word.
func reset(w http.ResponseWriter) {
	if connection := takeOver(w); connection != nil {
		connection.SetLinger(0)
		connection.Close()
	}
}

// silence lasts until the client gives up.
func silence(w http.ResponseWriter, r *http.Request) {
	<-r.Context().Done()
	reset(w) // returning would end the answer in order
}

// halfClose says that no more will come, and then waits for the client's end for a while.
func halfClose(w http.ResponseWriter) {
	if connection := takeOver(w); connection != nil {
		connection.CloseWrite()
		connection.SetReadDeadline(time.Now().Add(5 * time.Minute))
		io.Copy(io.Discard, connection)
		connection.Close()
	}
}

// takeOver is the TCP connection below, so that not even TLS says goodbye; nil when it is gone.
func takeOver(w http.ResponseWriter) *net.TCPConn {
	connection, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil
	}
	return connection.(*tls.Conn).NetConn().(*net.TCPConn)
}
