package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"inference-operator.dev/bench/sample"
)

// figures are what one contestant showed in one round, by the names that report.go knows.
type figures map[string]float64

// bench is one run of the comparison.
type bench struct {
	options
	c        *cluster
	children int // of each model
}

// converge measures from nothing to all written: the models are there, the contestant is started and finds them.
// The process runs on when it is one that serves.
func (b *bench) converge(ctx context.Context, who contestant, count int) (*process, figures, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute+time.Duration(count)*200*time.Millisecond)
	defer cancel()
	if err := b.c.controllers("stop"); err != nil {
		return nil, nil, err
	}
	if err := b.c.createModels(ctx, count); err != nil {
		return nil, nil, err
	}
	if err := pause(ctx, 2*time.Second); err != nil { // the API server ends what it does for them
		return nil, nil, err
	}
	log, err := openAudit(b.c.auditLog)
	if err != nil {
		return nil, nil, err
	}
	defer log.close()
	apiserver, err := cpuOf(b.c.apiserver)
	if err != nil {
		return nil, nil, err
	}
	p, err := start(context.WithoutCancel(ctx), who, b.out)
	if err != nil {
		return nil, nil, err
	}
	f, err := b.watchConverge(ctx, p, log, count, apiserver)
	if err != nil {
		p.stop()
		return nil, nil, err
	}
	return p, f, nil
}

func (b *bench) watchConverge(ctx context.Context, p *process, log *audit, count int, before time.Duration) (figures, error) {
	complete, writes, err := log.awaitModels(ctx, count, b.children, 2*time.Second, p.alive)
	if err != nil {
		return nil, err
	}
	cpu, err := p.cpu()
	if err != nil {
		return nil, err
	}
	apiserver, err := cpuOf(b.c.apiserver)
	if err != nil {
		return nil, err
	}
	f := figures{
		"converge_seconds":              complete.Sub(p.started).Seconds(),
		"converge_cpu_seconds":          cpu.Seconds(),
		"converge_writes_per_object":    float64(len(writes)) / float64(count),
		"converge_apiserver_cpu_second": (apiserver - before).Seconds(),
	}
	if !p.serves {
		return f, nil
	}
	sums, err := p.sums(ctx)
	if err != nil {
		return nil, err
	}
	for name, value := range sums {
		if method, found := strings.CutPrefix(name, "rest_client_requests_total "); found {
			f["requests_"+strings.ToLower(method)+"_per_object"] = value / float64(count)
		}
	}
	f["reconciles_per_object"] = sums[p.prefix+"reconcile_total"] / float64(count)
	return f, nil
}

// settle lets the controller manager do its part, so that every model becomes Ready, and then looks at a fleet at rest.
func (b *bench) settle(ctx context.Context, p *process, f figures, count int) error {
	log, err := openAudit(b.c.auditLog)
	if err != nil {
		return err
	}
	defer log.close()
	if err := b.c.controllers("start"); err != nil {
		return err
	}
	limit, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	for {
		ready, err := b.c.allReady(limit)
		if err != nil {
			return fmt.Errorf("waiting for all to be Ready: %w", err)
		}
		if ready {
			break
		}
		if err := pause(limit, time.Second); err != nil {
			return fmt.Errorf("waiting for all to be Ready: %w", err)
		}
	}
	if err := log.awaitQuiet(limit, 5*time.Second); err != nil {
		return err
	}
	before, err := p.cpu()
	if err != nil {
		return err
	}
	f["ready_cpu_seconds"] = before.Seconds()
	events := 0
	for i := range log.writes {
		if log.writes[i].isEvent() {
			events++
		}
	}
	f["event_writes_per_object"] = float64(events) / float64(count)
	f["status_writes_per_object"] = float64(len(log.writes)-events) / float64(count)
	seen := len(log.writes)
	if err := pause(ctx, b.settleFor); err != nil {
		return err
	}
	if err := log.read(); err != nil {
		return err
	}
	after, err := p.cpu()
	if err != nil {
		return err
	}
	f["settled_writes"] = float64(len(log.writes) - seen)
	f["settled_cpu_seconds"] = (after - before).Seconds()
	if f["settled_rss_mb"], err = p.memory("VmRSS"); err != nil {
		return err
	}
	f["peak_rss_mb"], err = p.memory("VmHWM")
	return err
}

// restart ends the process and starts another on the settled fleet.
func (b *bench) restart(ctx context.Context, p *process, f figures, count int) (*process, error) {
	p.stop()
	log, err := openAudit(b.c.auditLog)
	if err != nil {
		return nil, err
	}
	defer log.close()
	next, err := start(ctx, p.contestant, b.out)
	if err != nil {
		return nil, err
	}
	err = func() error {
		limit, cancel := context.WithTimeout(ctx, 5*time.Minute)
		defer cancel()
		synced, err := next.awaitReady(limit)
		if err != nil {
			return err
		}
		idle, err := next.awaitIdle(limit, count)
		if err != nil {
			return err
		}
		if err := log.awaitQuiet(limit, 3*time.Second); err != nil {
			return err
		}
		cpu, err := next.cpu()
		f["restart_synced_seconds"], f["restart_seconds"] = synced.Seconds(), idle.Seconds()
		f["restart_cpu_seconds"], f["restart_writes"] = cpu.Seconds(), float64(len(log.writes))
		return err
	}()
	if err != nil {
		next.stop()
		return nil, err
	}
	return next, nil
}

// change measures from a client's write of a model's spec to the watch event of the changed child, one after the other.
func (b *bench) change(ctx context.Context, f figures, count int) error {
	if err := b.c.controllers("stop"); err != nil {
		return err
	}
	// Without a list before it: the first events are of what is there, and carry other lengths.
	events, err := b.c.in(deployments).Watch(ctx, metav1.ListOptions{LabelSelector: sample.ManagedByLabel + "=" + sample.ManagedBy})
	if err != nil {
		return err
	}
	defer events.Stop()
	var times []float64
	for number := range b.changes {
		name, length := modelName(number%count), baseLength+1+number
		patch := fmt.Sprintf(`{"spec":{"serving":{"maxModelLen":%d}}}`, length)
		began := time.Now()
		if _, err := b.c.in(models).Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			return err
		}
		if err := awaitLength(ctx, events, name, fmt.Sprint(length)); err != nil {
			return fmt.Errorf("change %d of %s: %w", number, name, err)
		}
		times = append(times, time.Since(began).Seconds()*1000)
		if err := pause(ctx, 50*time.Millisecond); err != nil { // the status is written meanwhile
			return err
		}
	}
	slices.Sort(times)
	f["change_p50_ms"], f["change_p99_ms"] = quantile(times, 0.50), quantile(times, 0.99)
	return nil
}

func awaitLength(ctx context.Context, events watch.Interface, name, length string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case event, open := <-events.ResultChan():
			if !open {
				return fmt.Errorf("the watch ended")
			}
			object, is := event.Object.(*unstructured.Unstructured)
			if is && object.GetName() == name && hasArgument(object.Object, length) {
				return nil
			}
		}
	}
}

func hasArgument(deployment map[string]any, argument string) bool {
	containers, _, _ := unstructured.NestedSlice(deployment, "spec", "template", "spec", "containers")
	for _, each := range containers {
		container, _ := each.(map[string]any)
		arguments, _ := container["args"].([]any)
		if slices.Contains(arguments, any(argument)) {
			return true
		}
	}
	return false
}

// startup measures from the start of the process to ready in a cluster without models.
func (b *bench) startup(ctx context.Context, who contestant, f figures) error {
	var times []float64
	for range 5 {
		p, err := start(ctx, who, b.out)
		if err != nil {
			return err
		}
		limit, cancel := context.WithTimeout(ctx, time.Minute)
		took, err := p.awaitReady(limit)
		cancel()
		if err == nil {
			f["empty_rss_mb"], err = p.memory("VmRSS")
		}
		p.stop()
		if err != nil {
			return err
		}
		times = append(times, took.Seconds()*1000)
	}
	slices.Sort(times)
	f["startup_ms"] = quantile(times, 0.5)
	return nil
}

// round measures one contestant once, from a clean world to a clean world.
func (b *bench) round(ctx context.Context, who contestant, count int) (figures, error) {
	empty := figures{}
	if who.serves {
		if err := b.startup(ctx, who, empty); err != nil {
			return nil, err
		}
	}
	p, f, err := b.converge(ctx, who, count)
	if err != nil {
		return nil, err
	}
	for name, value := range empty {
		f[name] = value
	}
	if who.serves {
		err := b.settle(ctx, p, f, count)
		if err == nil {
			var next *process
			if next, err = b.restart(ctx, p, f, count); err == nil {
				p = next
				err = b.change(ctx, f, count)
			}
		}
		p.stop()
		if err != nil {
			return nil, err
		}
	}
	return f, b.c.clean(ctx)
}

// cost measures what an operator spends for each of `count` models.
func (b *bench) cost(ctx context.Context, who contestant, count int) (figures, error) {
	empty := figures{}
	if err := b.startup(ctx, who, empty); err != nil {
		return nil, err
	}
	p, f, err := b.converge(ctx, who, count)
	if err != nil {
		return nil, err
	}
	rss, err := p.memory("VmRSS")
	p.stop()
	if err != nil {
		return nil, err
	}
	cost := figures{
		"objects":           float64(count),
		"cpu_ms_per_object": f["converge_cpu_seconds"] * 1000 / float64(count),
		"kb_per_object":     (rss - empty["empty_rss_mb"]) * 1000 / float64(count),
		"ms_per_object":     f["converge_seconds"] * 1000 / float64(count),
	}
	return cost, b.c.clean(ctx)
}
