package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"
)

// startLimit bounds each wait of a start. It is generous: the machine may be compiling at the same time.
const startLimit = 2 * time.Minute

// askPause is between two questions to a component that is starting: the questions must not be what keeps it busy.
const askPause = 100 * time.Millisecond

// supervisor starts components and watches over those that it started: whatever it waits for, the wait ends with a
// clear error when one of them dies.
type supervisor struct {
	c       *cluster
	say     *progress
	held    map[string]reservation // ports kept free for components that have not started
	started []component
	daemons map[string]*daemon
}

func newSupervisor(c *cluster, say *progress) *supervisor {
	return &supervisor{c: c, say: say, held: map[string]reservation{}, daemons: map[string]*daemon{}}
}

// launch starts the component's process and does not wait until it works.
func (s *supervisor) launch(each component) error {
	if !s.c.hasNode() { // else the machine has them all
		for _, port := range each.ports {
			if held, ok := s.held[port]; ok {
				held.release()
				delete(s.held, port)
			}
		}
	}
	os.Remove(s.c.pidFile(each.name)) // of an earlier process of this component, which has ended
	plan, err := s.plan(each)
	if err != nil {
		return err
	}
	d, err := startDaemon(plan)
	if d != nil {
		s.started = append(s.started, each)
		s.daemons[each.name] = d
	}
	if err == nil {
		return nil
	}
	if death := s.death(); death != nil {
		return death
	}
	return err
}

// plan tells how the component's process is made.
func (s *supervisor) plan(each component) (daemonPlan, error) {
	plan := daemonPlan{
		argv: append([]string{s.c.program(each)}, each.args(s.c)...),
		dir:  s.c.state, pidFile: s.c.pidFile(each.name), logFile: s.c.logFile(each.name),
	}
	if !s.c.hasNode() {
		return plan, nil
	}
	plan.cgroup = cgroupName(s.c.state)
	var err error
	if each.name == machineName {
		plan.namespaces = syscall.CLONE_NEWNET | syscall.CLONE_NEWNS
		plan.files, err = s.listeners()
	} else {
		plan.argv, err = s.c.inMachine(plan.argv...)
	}
	return plan, err
}

// await polls until done says true, a component dies, the user interrupts or startLimit is over.
func (s *supervisor) await(ctx context.Context, what string, done func() (bool, error)) error {
	var last error // why it is not done yet
	var death error
	err := pollEvery(ctx, askPause, startLimit, func() bool {
		if death = s.death(); death != nil {
			return true
		}
		var ok bool
		ok, last = done()
		return ok
	})
	switch {
	case death != nil:
		return death
	case errors.Is(err, os.ErrDeadlineExceeded) && last != nil:
		return fmt.Errorf("%s: not within %s: %w", what, startLimit, last)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("%s: not within %s", what, startLimit)
	}
	return err
}

func (s *supervisor) awaitHealthy(ctx context.Context, each component) error {
	return s.await(ctx, each.binary+" healthy", func() (bool, error) { return s.c.healthy(ctx, each), nil })
}

// death describes the first component that has ended, or is nil.
func (s *supervisor) death() error {
	for _, each := range s.started {
		if d := s.daemons[each.name]; d.ended() {
			return fmt.Errorf("%s died while starting (%s); the end of %s:\n%s",
				each.binary, exitText(d.end), s.c.logFile(each.name), indent(logTail(s.c.logFile(each.name))))
		}
	}
	return nil
}

func exitText(err error) string {
	if err == nil {
		return "exit status 0"
	}
	return err.Error()
}

func logTail(file string) string {
	content, err := os.ReadFile(file)
	if err != nil || strings.TrimSpace(string(content)) == "" {
		return "(the log is empty)"
	}
	return lastLines(string(content), 15)
}

// releasePorts gives up what launch has not used.
func (s *supervisor) releasePorts() {
	for _, held := range s.held {
		held.release()
	}
	clear(s.held)
}

// stopPatience is how long a component may take to end by itself. The apiserver drains requests that are under way.
const stopPatience = 20 * time.Second

// stopComponent ends one component's process, if it runs, and removes its pid file.
func (c *cluster) stopComponent(each component, say *progress) error {
	id, ok := c.running(each.name)
	if ok {
		killed, err := id.end(stopPatience)
		if err != nil {
			return fmt.Errorf("stop %s: %w", each.binary, err)
		}
		if killed {
			say.note("%s did not end within %s and was killed", each.binary, stopPatience)
		}
	}
	os.Remove(c.pidFile(each.name))
	return nil
}

// stopAll ends what runs, clients first: then the apiserver, then etcd. It goes on after a failure and reports the first.
func (c *cluster) stopAll(say *progress) (stopped int, first error) {
	stopOne := func(each component) error { return c.stopComponent(each, say) }
	var outer []component
	for _, each := range components[2:] {
		if _, ok := c.running(each.name); ok {
			outer = append(outer, each)
		}
	}
	failures := make(chan error, len(outer))
	for _, each := range outer { // they do not depend on each other
		go func() { failures <- stopOne(each) }()
	}
	for range outer {
		first = errors.Join(first, <-failures)
	}
	stopped = len(outer)
	for _, each := range []component{components[1], components[0]} {
		if _, ok := c.running(each.name); ok {
			stopped++
		}
		first = errors.Join(first, stopOne(each))
	}
	return stopped, errors.Join(first, clearCgroups(c.state)) // and the containers
}
