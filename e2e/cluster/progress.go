package main

import (
	"fmt"
	"io"
	"time"
)

// progress prints one line a step. It goes to stderr, so that stdout carries only the answer (a path, JSON).
type progress struct{ out io.Writer }

func (p *progress) note(format string, args ...any) { fmt.Fprintf(p.out, format+"\n", args...) }

// step runs one piece of work and prints what was done with the seconds it took. Failures are printed by main alone.
func (p *progress) step(what string, work func() error) error {
	begin := time.Now()
	if err := work(); err != nil {
		return err
	}
	p.note("%-46s %6.1f s", what, time.Since(begin).Seconds())
	return nil
}
