//go:build node

// What pods as they are rendered do with streams in flight when they end, on a real node: needs root, and the path of
// kubectl-inference in INFERENCE_TEST_CLI. ./dev test --only node runs it.
package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// How long the rendered hook takes: see templates/defaults.yaml and the engines' idleSeconds.
const (
	propagation = 5 * time.Second
	idleness    = 6 * time.Second
	teardown    = 10 * time.Second
	slowness    = 20 * time.Second // of a busy machine, kubelet and API server included
)

func TestDrains(t *testing.T) {
	o := testCluster(t, "node-drain")
	o.nodes = 0
	before := tracesOf(t, o)
	c := mustUp(t, o)
	d := newDrainTest(nodeTest{t, c})
	run := func(name string, test func(d drainTest)) {
		t.Run(name, func(t *testing.T) {
			d := d
			d.T = t
			test(d)
		})
	}
	run("CutNoStreamWhateverEndsAPod", cutsNoStream)
	run("WorkWithWhateverClientTheImageHas", workWithAnyClient)
	run("WorkForEachEngine", workForEachEngine)
	run("EndAPodThatLoadsInSeconds", endLoadingPods)
	mustDown(t, o)
	compareTraces(t, before, tracesOf(t, o))
}

// Streams of eight seconds over the Service, two new ones a second, while pods go for one reason after the other.
func cutsNoStream(d drainTest) {
	m := model{name: "steady", image: curlImage, replicas: 2, env: map[string]string{"FAKE_STEP": "50ms"}}
	d.serve(m)
	for _, each := range []struct {
		reason string
		end    func()
	}{
		{"deleted, and once more while it drains", func() {
			victim := d.pods(m.name)[0]
			d.kubectl("delete", "pod", victim, "--wait=false")
			deleted := time.Now()
			time.Sleep(3 * time.Second)
			d.kubectl("delete", "pod", victim, "--wait=false")
			d.awaitGone(victim, deleted, propagation+8*time.Second+idleness+slowness)
			d.checkJournal(victim, deleted.Add(propagation))
		}},
		{"evicted", func() {
			victim := d.pods(m.name)[0]
			d.evict(victim)
			d.awaitGone(victim, time.Now(), propagation+8*time.Second+idleness+slowness)
		}},
		{"rolled out", func() {
			m.env["FAKE_STEP"] = "51ms"
			d.serve(m)
		}},
		{"scaled down", func() {
			m.replicas = 1
			d.apply(m)
			d.awaitPods(m.name, 1)
		}},
	} {
		load := d.stream(m, 2, 160)
		time.Sleep(4 * time.Second)
		each.end()
		if got := load.stop(); got.Truncated != 0 || got.Refused != 0 || got.Whole < 10 {
			d.Errorf("%s: %+v", each.reason, got)
		} else {
			d.Logf("%s: %+v", each.reason, got)
		}
		d.await("all replicas are ready again", time.Minute, func() bool { return d.ready(m.name) == m.replicas })
	}
	d.remove(m)
}

// One pod for each client that an image may have, each deleted while it streams for twelve seconds.
func workWithAnyClient(d drainTest) {
	says := map[string]string{curlImage: "idle after", wgetImage: "idle after", pythonImage: "idle after", shellImage: "watching connections instead",
		crashImage: "watching connections instead"}
	d.drainOneEach([]model{
		{name: "with-curl", image: curlImage}, {name: "with-wget", image: wgetImage},
		{name: "with-python3", image: pythonImage}, {name: "with-sh", image: shellImage},
		{name: "with-crashes", image: crashImage},
	}, func(m model) string { return says[m.image] })
}

// The older vLLM has no --shutdown-timeout. The wrapped engine is started by a shell, which is process 1 and hands no signal on.
func workForEachEngine(d drainTest) {
	says := map[string]string{"older": "idle after", "sglang": "idle after", "contract": "drained after", "wrapped": "drained after"}
	d.drainOneEach([]model{
		{name: "older", image: curlImage, version: "0.17.0"}, {name: "sglang", engine: "sglang", image: sglangImage},
		{name: "contract", engine: "generic", image: contractImage}, {name: "wrapped", engine: "generic", image: wrappedImage},
	}, func(m model) string { return says[m.name] })
}

// drainOneEach serves the models, each by one pod, and deletes each pod while it streams.
func (d drainTest) drainOneEach(models []model, says func(m model) string) {
	for index := range models {
		models[index].replicas = 1
		models[index].env = map[string]string{"FAKE_STEP": "50ms"}
		d.apply(models[index])
	}
	loads, logs, victims := map[string]*load{}, map[string]*follower{}, map[string]string{}
	for _, m := range models {
		d.awaitReady(m)
		victims[m.name] = d.pods(m.name)[0]
		logs[m.name] = d.follow(victims[m.name])
	}
	for _, m := range models {
		loads[m.name] = d.stream(m, 0, 240)
	}
	deleted := time.Now()
	for _, m := range models {
		d.kubectl("delete", "pod", victims[m.name], "--wait=false")
	}
	for _, m := range models {
		if got := loads[m.name].wait(); got.Whole != 1 {
			d.Errorf("%s: %+v", m.name, got)
		}
	}
	for _, m := range models {
		d.awaitGone(victims[m.name], deleted, 12*time.Second+idleness+teardown+slowness)
	}
	for _, m := range models {
		d.checkJournal(victims[m.name], time.Time{})
		if text := logs[m.name].text(); !strings.Contains(text, says(m)) {
			d.Errorf("%s: the hook does not say %q:\n%s", m.name, says(m), text)
		}
		d.remove(m)
	}
}

// While it loads an engine holds its GPUs for nothing. Process 1 gets no signal that it has no handler for; vLLM loses the first SIGTERM.
func endLoadingPods(d drainTest) {
	models := []model{
		{name: "imports", image: curlImage, env: map[string]string{"FAKE_IMPORTS": "1h"}},
		{name: "loses", image: curlImage, env: map[string]string{"FAKE_LOAD": "1h"}},
		{name: "wedges", image: curlImage, env: map[string]string{"FAKE_LOAD": "1h", "FAKE_SIGTERM_LOADING": "wedged"}},
		{name: "loads-sglang", engine: "sglang", image: sglangImage, env: map[string]string{"FAKE_LOAD": "1h"}},
		{name: "wrapped-loads", engine: "generic", image: wrappedImage, env: map[string]string{"FAKE_IMPORTS": "1h"}},
	}
	for index := range models {
		models[index].replicas = 1
		d.apply(models[index])
	}
	for _, m := range models {
		d.await(m.name+" runs", time.Minute, func() bool { return len(d.pods(m.name)) == 1 && d.phase(d.pods(m.name)[0]) == "Running" })
		victim := d.pods(m.name)[0]
		d.kubectl("scale", "deployment", m.name, "--replicas=0")
		d.awaitGone(victim, time.Now(), propagation+slowness)
		d.remove(m)
	}
}

// checkJournal of a pod that is gone: nothing was cut, and nothing began after a time (unless that is zero).
func (d drainTest) checkJournal(pod string, closed time.Time) {
	d.Helper()
	content, err := os.ReadFile(d.journal(pod))
	if err != nil {
		d.Error(err)
	}
	counts := map[string]int{}
	for line := range strings.Lines(string(content)) {
		fields := strings.Fields(line)
		counts[fields[1]]++
		when, err := time.Parse("2006-01-02T15:04:05.000Z", fields[0])
		if err != nil {
			d.Error(err)
		}
		if !closed.IsZero() && fields[1] == "begun" && when.After(closed) {
			d.Errorf("%s took a request at %s, after its endpoint should have been gone (%s)", pod, when, closed)
		}
	}
	if counts["begun"] == 0 || counts["begun"] != counts["finished"] {
		d.Errorf("the journal of %s: %v", pod, fmt.Sprint(counts))
	}
}
