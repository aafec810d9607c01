package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// start brings a stopped component back with the same ports and data.
func (c *cluster) start(ctx context.Context, each component, say *progress) error {
	if err := c.requirePresent(each); err != nil {
		return err
	}
	if _, ok := c.running(each.name); ok {
		say.note("%s already runs", each.name)
		return nil
	}
	for _, name := range each.ports {
		// The threads of a process that was killed end after its main thread, and only the last one frees the ports.
		var err error
		pollUntil(ctx, 10*time.Second, func() bool {
			err = c.portIsFree(ctx, c.Ports[name])
			return err == nil
		})
		if err != nil {
			return err
		}
	}
	return say.step(each.name+" started", func() error {
		s := newSupervisor(c, say)
		if err := s.launch(each); err != nil {
			return err
		}
		if each.name == "etcd" {
			// etcd is healthy by itself within a moment; what the caller waits for is an API server that reads from it again.
			if api := components[1]; s.c.isRunning(api) {
				return s.awaitBoth(ctx, each, api)
			}
		}
		return s.awaitHealthy(ctx, each)
	})
}

// portIsFree returns an error that says who has the port where the components run.
func (c *cluster) portIsFree(ctx context.Context, port int) error {
	if c.hasNode() {
		return c.portIsFreeInMachine(ctx, port)
	}
	held, err := reserveExactly(port)
	if err == nil {
		held.release()
	}
	return err
}

func (s *supervisor) awaitBoth(ctx context.Context, first, second component) error {
	if err := s.awaitHealthy(ctx, first); err != nil {
		return err
	}
	return s.awaitHealthy(ctx, second)
}

func (c *cluster) isRunning(each component) bool {
	_, ok := c.running(each.name)
	return ok
}

// stop ends one component and leaves the rest running.
func (c *cluster) stop(each component, say *progress) error {
	if err := c.requirePresent(each); err != nil {
		return err
	}
	if !c.isRunning(each) {
		say.note("%s does not run", each.name)
		return nil
	}
	return say.step(each.name+" stopped", func() error { return c.stopComponent(each, say) })
}

// kill ends one component without a chance to finish anything.
func (c *cluster) kill(each component, say *progress) error {
	id, ok := c.running(each.name)
	if !ok {
		return fmt.Errorf("%s does not run", each.name)
	}
	return say.step(each.name+" killed", id.kill)
}

func (c *cluster) requirePresent(each component) error {
	if !c.has(each) {
		return fmt.Errorf("cluster %s was started without %s", c.Name, each.name)
	}
	return nil
}

// installLWS adds LeaderWorkerSet to a cluster that was started without it.
func (c *cluster) installLWS(ctx context.Context, say *progress) error {
	if !slices.Contains(c.Without, "lws") {
		say.note("cluster %s has LeaderWorkerSet already", c.Name)
		return nil
	}
	manager, err := findComponent("lws")
	if err != nil {
		return err
	}
	if err := newSupervisor(c, say).startLWS(ctx); err != nil {
		c.stopComponent(manager, say) // the first error tells why
		return err
	}
	c.Without = slices.DeleteFunc(slices.Clone(c.Without), func(name string) bool { return name == "lws" })
	return c.save()
}
