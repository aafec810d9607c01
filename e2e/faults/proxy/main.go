// Command proxy stands between a client of the Kubernetes API and the API server and does to requests, answers and
// watches what networks and overloaded servers do. Which request meets with what follows from a seed.
//
// It prints its port, then serves until it is killed. Each fault is a line of the log. SIGUSR1 ends the faults; the
// streams that are frozen by then stay so.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

func main() {
	log.SetFlags(0)
	server := flag.String("server", "", "URL of the API server")
	pki := flag.String("pki", "", "folder with ca.crt, apiserver.crt and apiserver.key: who trusts the API server trusts the proxy")
	seed := flag.Uint64("seed", 0, "what the faults follow from")
	logFile := flag.String("log", "", "file that gets a line for each fault")
	flag.Parse()
	if err := run(*server, *pki, *logFile, *seed); err != nil {
		log.Fatalf("proxy: %s", err)
	}
}

func run(server, pki, logFile string, seed uint64) error {
	target, err := url.Parse(server)
	if err != nil {
		return err
	}
	authority, err := os.ReadFile(filepath.Join(pki, "ca.crt"))
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(authority) {
		return fmt.Errorf("no certificate in %s", filepath.Join(pki, "ca.crt"))
	}
	faults, err := os.OpenFile(logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	fates := newOracle(seed)
	p := newProxy(target, &tls.Config{RootCAs: roots}, fates, faults)
	calm := make(chan os.Signal, 1)
	signal.Notify(calm, syscall.SIGUSR1)
	go func() {
		<-calm
		fates.calm.Store(true)
	}()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	return errors.Join(errors.New("stopped serving"),
		p.server().ServeTLS(listener, filepath.Join(pki, "apiserver.crt"), filepath.Join(pki, "apiserver.key")))
}

// server speaks HTTP/1.1 only: a fault of one request must not be one of its neighbours on the connection.
func (p *proxy) server() *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Server{Handler: p, Protocols: protocols, ErrorLog: log.New(io.Discard, "", 0)}
}
