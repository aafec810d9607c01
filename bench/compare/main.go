// compare measures inference-operator side by side with a peer on controller-runtime and with a bare writer, in turn and
// in several rounds on one control plane. ./dev bench --peer runs it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"time"
)

type options struct {
	root, out                                string // folders: the checkout, and where results go
	operator, cli, peer, raw, localcluster   string // programs
	cluster                                  string
	rounds, objects, workers, changes, cores int
	settleFor                                time.Duration
	curve, look, keep                        bool
}

func main() {
	var o options
	flag.StringVar(&o.root, "root", ".", "the checkout")
	flag.StringVar(&o.out, "out", "build/bench", "folder of results, logs, and of the programs peer and raw")
	flag.StringVar(&o.operator, "operator", "build/release/bin/inference-operator", "the operator")
	flag.StringVar(&o.cli, "cli", "build/release/bin/kubectl-inference", "its command line")
	flag.StringVar(&o.localcluster, "localcluster", "build/localcluster", "the program of the control plane")
	flag.StringVar(&o.cluster, "cluster", "bench", "name of the control plane, which is started and stopped")
	flag.IntVar(&o.rounds, "rounds", 3, "rounds")
	flag.IntVar(&o.objects, "objects", 1000, "InferenceDeployments")
	flag.IntVar(&o.workers, "workers", 4, "workers of each contestant")
	flag.IntVar(&o.changes, "changes", 100, "changes of a spec, one after the other")
	flag.DurationVar(&o.settleFor, "settle", time.Minute, "how long a settled fleet is looked at")
	flag.BoolVar(&o.curve, "curve", false, "also the cost of an object from 100 to 5,000 objects")
	flag.BoolVar(&o.look, "look", false, "also a raw writer that looks before it writes, as the operators do")
	flag.BoolVar(&o.keep, "keep", false, "leave the control plane running")
	flag.Parse()
	if flag.NArg() > 0 || o.rounds < 1 || o.objects < 1 || o.workers < 1 || o.changes < 1 {
		fmt.Fprintln(os.Stderr, "compare: takes flags only, and at least 1 of each number")
		os.Exit(2)
	}
	o.cores = runtime.NumCPU()
	o.peer, o.raw = filepath.Join(o.out, "peer"), filepath.Join(o.out, "raw")

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) (failure error) {
	out, err := filepath.Abs(o.out)
	if err != nil {
		return err
	}
	o.out = out
	c, err := upCluster(ctx, o)
	if err != nil {
		return err
	}
	if !o.keep {
		defer func() { failure = errors.Join(failure, c.down()) }()
	}
	b := &bench{options: o, c: c}
	if err := c.clean(ctx); err != nil {
		return err
	}
	if err := c.controllers("stop"); err != nil {
		return err
	}
	path, err := c.makeSample(ctx, o)
	if err != nil {
		return fmt.Errorf("the sample: %w", err)
	}
	if b.children, err = childrenOf(path); err != nil {
		return err
	}
	if err := c.clean(ctx); err != nil {
		return err
	}
	contestants := []contestant{operatorContestant(o, c), peerContestant(o, c, path), rawContestant(o, c, path)}
	if o.look {
		contestants = append(contestants, rawContestant(o, c, path, "--look"))
	}
	return b.all(ctx, contestants)
}

// all runs the rounds, and the curve, and tells.
func (b *bench) all(ctx context.Context, contestants []contestant) error {
	r := results{}
	for round := range b.rounds {
		for turn := range contestants {
			who := contestants[(turn+round)%len(contestants)] // each is the first one once
			fmt.Fprintf(os.Stderr, "round %d of %d: %s\n", round+1, b.rounds, who.name)
			f, err := b.round(ctx, who, b.objects)
			if err != nil {
				return fmt.Errorf("round %d, %s: %w", round+1, who.name, err)
			}
			if who.serves {
				if f["binary_mb"], f["libraries_mb"], err = b.size(ctx, who); err != nil {
					return err
				}
			}
			fmt.Fprintf(os.Stderr, "  %.1f s, %.2f s of CPU\n", f["converge_seconds"], f["converge_cpu_seconds"])
			r[who.name] = append(r[who.name], f)
		}
	}
	curves := map[string][]figures{}
	if b.curve {
		for _, who := range contestants[:2] {
			for _, count := range []int{100, 500, 1000, 2000, 5000} {
				fmt.Fprintf(os.Stderr, "curve: %s, %d objects\n", who.name, count)
				f, err := b.cost(ctx, who, count)
				if err != nil {
					return fmt.Errorf("curve, %s, %d objects: %w", who.name, count, err)
				}
				curves[who.name] = append(curves[who.name], f)
			}
		}
	}
	fmt.Printf("%d cores, %d objects, %d rounds, %d workers: medians (least to most)\n\n", b.cores, b.objects, b.rounds, b.workers)
	r.print(os.Stdout)
	for _, who := range slices.Sorted(maps.Keys(curves)) {
		printCurve(os.Stdout, who, curves[who])
	}
	return save(b.options, r, curves)
}
