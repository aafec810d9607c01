package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// misuseError is a wrong command line: exit code 2.
type misuseError struct{ text string }

func (e misuseError) Error() string { return e.text }

func misuse(format string, args ...any) error { return misuseError{fmt.Sprintf(format, args...)} }

// target is the cluster that a command is about.
type target struct {
	name   string
	state  string // absolute
	binDir string // override of the cache folder, for build and up
}

func (t *target) flags(set *flag.FlagSet) {
	set.StringVar(&t.name, "name", "dev", "name of the cluster")
	set.StringVar(&t.state, "state", "", "folder of its state (default CHECKOUT/build/cluster/NAME)")
}

// resolve makes the state folder absolute, since components run in it.
func (t *target) resolve() error {
	if t.name == "" || strings.ContainsAny(t.name, "/\\ ") || strings.HasPrefix(t.name, ".") {
		return misuse("--name %q is no name: letters, digits and dashes", t.name)
	}
	if t.state == "" {
		root, err := checkoutRoot()
		if err != nil {
			return err
		}
		t.state = filepath.Join(root, "build", "cluster", t.name)
	}
	var err error
	t.state, err = filepath.Abs(t.state)
	return err
}

// build makes the programs of the base kit and of the named add-ons, as far as the cache lacks them. It answers with the
// folder of the first, and with the folder of each add-on by its name.
func (t *target) build(ctx context.Context, with []string, say *progress) (bin string, added map[string]string, err error) {
	root, err := checkoutRoot()
	if err != nil {
		return "", nil, err
	}
	if bin, err = base.binFolder(root, t.binDir); err != nil {
		return "", nil, err
	}
	kubectl := filepath.Join(bin, "kubectl")
	if err := base.buildMissing(ctx, root, bin, kubectl, say); err != nil {
		return "", nil, err
	}
	added = map[string]string{}
	for _, name := range with {
		if added[name], err = addOns[name].binFolder(root, t.binDir); err != nil {
			return "", nil, err
		}
		if err := addOns[name].buildMissing(ctx, root, added[name], kubectl, say); err != nil {
			return "", nil, err
		}
	}
	return bin, added, nil
}

// withFlag lets add-ons be named.
func withFlag(set *flag.FlagSet, with *[]string) {
	set.Func("with", "what to have besides: "+strings.Join(addOnNames(), ","), func(list string) error {
		*with = sorted(append(*with, strings.Split(list, ",")...))
		for _, name := range *with {
			if _, ok := addOns[name]; !ok {
				return fmt.Errorf("no %q: one of %s", name, strings.Join(addOnNames(), ", "))
			}
		}
		return nil
	})
}

func addOnNames() []string { return sorted(slices.Collect(maps.Keys(addOns))) }

// parse reads flags wherever they stand, also after words, and returns the words.
func parse(set *flag.FlagSet, args []string) ([]string, error) {
	set.SetOutput(io.Discard) // main prints errors and help
	var words []string
	for {
		if err := set.Parse(args); errors.Is(err, flag.ErrHelp) {
			return nil, err
		} else if err != nil {
			return nil, misuse("%s", err)
		}
		if set.NArg() == 0 {
			return words, nil
		}
		words = append(words, set.Arg(0))
		args = set.Args()[1:]
	}
}

func (o *upOptions) flags(set *flag.FlagSet) {
	o.target.flags(set)
	set.StringVar(&o.binDir, "bin-dir", "", "folder of the programs (default: keyed in the user's cache)")
	set.IntVar(&o.port, "port", 0, "port of the API server (default: a free one)")
	set.IntVar(&o.nodes, "nodes", 8, "number of fake GPU nodes")
	set.IntVar(&o.gpus, "gpus", 8, "GPUs of each node")
	set.Func("without", "components to leave out: lws,kwok", func(list string) error {
		o.without = strings.Split(list, ",")
		return nil
	})
	withFlag(set, &o.with)
	set.BoolFunc("node", "have a real node too, with kubelet and containerd: --with "+nodeKit, func(string) error {
		o.with = sorted(append(o.with, nodeKit))
		return nil
	})
	set.StringVar(&o.featureGates, "feature-gates", "", "further gates for apiserver, controller-manager and scheduler, as A=true,B=false\n"+
		"(GenericWorkload=true, native gang scheduling, is on unless given)")
	set.StringVar(&o.schedulerGates, "scheduler-feature-gates", "", "gates in which the scheduler differs from the others")
}

func (o *upOptions) check(set *flag.FlagSet) error {
	o.set = map[string]bool{}
	set.Visit(func(f *flag.Flag) { o.set[f.Name] = true })
	if o.set["node"] {
		o.set["with"] = true
	}
	o.with = slices.Compact(o.with)
	for _, name := range o.without {
		if !slices.Contains(optionalComponents, name) {
			return misuse("--without %s: only %s can be left out", name, strings.Join(optionalComponents, ", "))
		}
	}
	slices.Sort(o.without)
	if slices.Contains(o.with, "kueue") && slices.Contains(o.without, "lws") {
		return misuse("--with kueue needs lws, which --without leaves out")
	}
	if slices.Contains(o.without, "kwok") {
		if o.set["nodes"] && o.nodes > 0 {
			return misuse("--nodes %d needs kwok, which --without leaves out", o.nodes)
		}
		o.nodes = 0
	}
	switch {
	case o.nodes < 0 || o.nodes > 5000:
		return misuse("--nodes %d: from 0 to 5000", o.nodes)
	case o.gpus < 0 || o.gpus > 16:
		return misuse("--gpus %d: from 0 to 16", o.gpus)
	case o.port < 0 || o.port > 65535:
		return misuse("--port %d: from 1 to 65535", o.port)
	}
	return o.resolve()
}
