package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"time"
)

// upOptions are the choices of `up`. Fields that the user did not set have their defaults.
type upOptions struct {
	target
	port           int
	nodes          int
	gpus           int
	without        []string
	with           []string
	featureGates   string
	schedulerGates string
	set            map[string]bool // which flags were given
}

// up brings the cluster to life, or says that it lives. On any failure everything that it started is stopped again.
func up(ctx context.Context, o upOptions, say *progress) (*cluster, error) {
	lock, err := lockState(ctx, o.state, 30*time.Minute, say) // the other may be building
	if err != nil {
		return nil, err
	}
	defer lock.release()
	if c, err := alreadyUp(ctx, o, say); c != nil || err != nil {
		return c, err
	}
	if err := clearRemains(o.state, say); err != nil {
		return nil, err
	}
	if slices.Contains(o.with, nodeKit) {
		cache, err := os.UserCacheDir()
		if err = errors.Join(err, requireMachine(o.state, cmp.Or(o.binDir, cache))); err != nil {
			return nil, err
		}
	}
	bin, added, err := o.build(ctx, o.with, say)
	if err != nil {
		return nil, err
	}
	c := &cluster{state: o.state, Name: o.name, Bin: bin, AddOns: added, Without: o.without, Nodes: o.nodes, GPUs: o.gpus,
		FeatureGates: o.featureGates, SchedulerGates: o.schedulerGates}
	s := newSupervisor(c, say)
	begin := time.Now()
	if err := s.bringUp(ctx, o.port); err != nil {
		s.releasePorts()
		stopped, stopErr := c.stopAll(say)
		if stopped > 0 {
			say.note("stopped what was started (%d); the logs are in %s", stopped, c.path("logs"))
		}
		return nil, errors.Join(err, stopErr, removeState(o.state, keepLogs))
	}
	say.note("%-46s %6.1f s", "cluster "+c.Name+" is up", time.Since(begin).Seconds())
	return c, nil
}

// alreadyUp returns the healthy cluster of this state folder. One that was started with other choices is refused: silently
// keeping it would give a test another cluster than it asked for.
func alreadyUp(ctx context.Context, o upOptions, say *progress) (*cluster, error) {
	c, err := loadCluster(o.state)
	if err != nil || !c.report(ctx).Up {
		return nil, nil // clearRemains deals with what is there
	}
	differs := ""
	switch {
	case o.set["port"] && o.port != c.Ports["apiserver"]:
		differs = fmt.Sprintf("--port %d", c.Ports["apiserver"])
	case o.set["nodes"] && o.nodes != c.Nodes:
		differs = fmt.Sprintf("--nodes %d", c.Nodes)
	case o.set["gpus"] && o.gpus != c.GPUs:
		differs = fmt.Sprintf("--gpus %d", c.GPUs)
	case o.set["feature-gates"] && o.featureGates != c.FeatureGates:
		differs = fmt.Sprintf("--feature-gates %q", c.FeatureGates)
	case o.set["scheduler-feature-gates"] && o.schedulerGates != c.SchedulerGates:
		differs = fmt.Sprintf("--scheduler-feature-gates %q", c.SchedulerGates)
	case o.set["without"] && !slices.Equal(o.without, c.Without):
		differs = fmt.Sprintf("--without %q", c.Without)
	case o.set["with"] && !slices.Equal(o.with, sorted(slices.Collect(maps.Keys(c.AddOns)))):
		differs = fmt.Sprintf("--with %q", sorted(slices.Collect(maps.Keys(c.AddOns))))
	}
	if differs != "" {
		return nil, fmt.Errorf("cluster %s is already up, with %s: run `down` first", c.Name, differs)
	}
	say.note("cluster %s is already up", c.Name)
	return c, nil
}

// clearRemains stops and removes what an earlier run left: processes without a healthy cluster, or half a state folder.
func clearRemains(state string, say *progress) error {
	entries, err := os.ReadDir(state)
	if errors.Is(err, fs.ErrNotExist) {
		return clearCgroups(state)
	}
	if err != nil {
		return err
	}
	if err := mayClear(state, entries); err != nil {
		return err
	}
	c := &cluster{state: state}
	stopped, err := c.stopAll(say)
	if err != nil {
		return err
	}
	if stopped > 0 || !onlyLogs(entries) {
		say.note("cleaned up after an earlier run: stopped %d of its processes, removed its state", stopped)
	}
	return removeState(state, nothing)
}

// bringUp is the whole start, in order; each line below may rely on what the lines above made.
func (s *supervisor) bringUp(ctx context.Context, port int) error {
	c := s.c
	if err := s.reservePorts(port); err != nil {
		return err
	}
	if err := errors.Join(c.writeConfiguration(), c.save()); err != nil {
		return err
	}
	if c.hasNode() {
		if err := s.startMachine(ctx); err != nil {
			return err
		}
	}
	for _, each := range components[:2] { // etcd, apiserver
		err := s.say.step(each.binary+" ready", func() error {
			if err := s.launch(each); err != nil {
				return err
			}
			return s.awaitHealthy(ctx, each)
		})
		if err != nil {
			return err
		}
	}
	// The API answers: all the others start at once, then each is waited for.
	others := c.present()[2:]
	for _, each := range others {
		if startsApart(each) {
			continue
		}
		if err := s.launch(each); err != nil {
			return err
		}
	}
	if _, err := c.createNodes(ctx, c.Nodes); err != nil {
		return err
	}
	if c.hasNode() {
		if err := s.startNode(ctx); err != nil {
			return err
		}
	}
	if !slices.Contains(c.Without, "lws") {
		if err := s.startLWS(ctx); err != nil {
			return err
		}
	}
	if _, ok := c.AddOns["kueue"]; ok {
		if err := s.startKueue(ctx); err != nil {
			return err
		}
	}
	return s.awaitAll(ctx, others)
}

// startsApart says whether the component starts once something else is there: its own kinds, or a container runtime.
func startsApart(each component) bool { return each.name == "lws" || each.kit != "" }

func (s *supervisor) awaitAll(ctx context.Context, others []component) error {
	for _, each := range others {
		if startsApart(each) && each.kit != nodeKit {
			continue // its own start has waited for it
		}
		if err := s.say.step(each.binary+" ready", func() error { return s.awaitHealthy(ctx, each) }); err != nil {
			return err
		}
	}
	nodes := s.c.Nodes
	if s.c.hasNode() {
		nodes++
	}
	if nodes > 0 {
		what := fmt.Sprintf("%d nodes ready, %d GPUs each", nodes, s.c.GPUs)
		if err := s.say.step(what, func() error { return s.awaitNodes(ctx, nodes) }); err != nil {
			return err
		}
	}
	return s.say.step("service account default/default", func() error {
		return s.await(ctx, "service account default/default", func() (bool, error) {
			err := s.c.get(ctx, "/api/v1/namespaces/default/serviceaccounts/default", nil)
			return err == nil, err
		})
	})
}

// reservePorts chooses all ports of the cluster, also those of components that are left out now: `install-lws` may
// start one later. port is the apiserver's, 0 for any.
func (s *supervisor) reservePorts(port int) error {
	s.c.Ports = map[string]int{}
	for _, each := range components {
		if each.kit == nodeKit && !s.c.hasNode() {
			continue
		}
		for _, name := range each.ports {
			var r reservation
			var err error
			if name == "apiserver" && port != 0 {
				r, err = reserveExactly(port)
			} else {
				r, err = reserveAny()
			}
			if err != nil {
				return err
			}
			s.held[name] = r
			s.c.Ports[name] = r.port()
		}
	}
	return nil
}
