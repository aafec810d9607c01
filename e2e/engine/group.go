package main

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"time"
)

// group is the ranks of one model over several pods, told by connections that the others keep open to rank 0. vLLM's ranks work in
// step: one that ends takes the whole model with it.
type group struct {
	met  <-chan struct{} // closed once all ranks are there; nil: there is nobody to wait for
	lost <-chan struct{} // closed once a rank is gone, for another rank: rank 0
}

func (e *engine) isWorker() bool { return e.given.nodes > 1 && e.given.rank > 0 }

// meet starts to wait for the other ranks.
func (e *engine) meet() (*group, error) {
	if e.given.nodes < 2 {
		return &group{}, nil
	}
	_, port, err := net.SplitHostPort(e.given.master)
	if err != nil {
		return nil, fmt.Errorf("where the ranks meet: %w", err)
	}
	met, lost := make(chan struct{}), make(chan struct{})
	if e.isWorker() {
		go join(e.given.master, met, lost)
		return &group{met: met, lost: lost}, nil
	}
	listener, err := net.Listen("tcp", net.JoinHostPort("", port))
	if err != nil {
		return nil, err
	}
	go gather(listener, e.given.nodes-1, met, lost)
	return &group{met: met, lost: lost}, nil
}

// gather takes in as many ranks as there are besides this one.
func gather(listener net.Listener, ranks int, met, lost chan struct{}) {
	gone := make(chan error, ranks)
	for range ranks {
		connection, err := listener.Accept()
		if err != nil {
			return
		}
		go func() { gone <- untilItEnds(connection) }()
	}
	close(met)
	<-gone
	close(lost)
}

// join looks for rank 0 for as long as it takes.
func join(master string, met, lost chan struct{}) {
	for {
		connection, err := net.DialTimeout("tcp", master, 5*time.Second)
		if err == nil {
			close(met)
			untilItEnds(connection)
			close(lost)
			return
		}
		time.Sleep(200 * time.Millisecond)
	}
}

func untilItEnds(connection net.Conn) error {
	defer connection.Close()
	_, err := connection.Read(make([]byte, 1))
	return cmp.Or(err, errors.New("a rank spoke"))
}

// followRank0 is a rank that serves no requests. vLLM 0.33.0 (headless): SIGTERM is the end at once. SGLang 0.5.23: it goes on until
// rank 0 has told it to end.
func (e *engine) followRank0(signals <-chan os.Signal, group *group) int {
	e.journal.note(ready, "rank %d", e.given.rank)
	which := <-signals
	e.journal.note(signaled, "%s, in rank %d", which, e.given.rank)
	if e.kind == sglang {
		<-group.lost
	}
	return 0
}
