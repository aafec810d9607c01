package main

import (
	"flag"
	"slices"
	"strings"
	"testing"
)

func parseUp(args ...string) (upOptions, error) {
	var o upOptions
	set := flag.NewFlagSet("up", flag.ContinueOnError)
	o.flags(set)
	if _, err := parse(set, args); err != nil {
		return o, err
	}
	return o, o.check(set)
}

func TestUpHasUsableDefaults(t *testing.T) {
	o, err := parseUp()
	if err != nil {
		t.Fatal(err)
	}
	if o.nodes != 8 || o.gpus != 8 || o.port != 0 || len(o.without) != 0 || o.name != "dev" || len(o.set) != 0 {
		t.Errorf("%+v", o)
	}
	if !strings.HasSuffix(o.state, "/build/cluster/dev") || !strings.HasPrefix(o.state, "/") {
		t.Errorf("state is %s", o.state)
	}
}

func TestUpTakesEveryFlag(t *testing.T) {
	o, err := parseUp("--state", "/tmp/x", "--nodes=3", "--gpus", "4", "--port", "6443", "--without", "lws,kwok", "--feature-gates=A=true")
	if err == nil {
		t.Error("nodes without kwok were accepted")
	}
	if o, err = parseUp("--state", "/tmp/x", "--with", "kueue"); err != nil || !slices.Equal(o.with, []string{"kueue"}) {
		t.Errorf("%+v, %v", o, err)
	}
	o, err = parseUp("--state", "/tmp/x", "--node", "--with", "kueue,node")
	if err != nil || !slices.Equal(o.with, []string{"kueue", "node"}) || !o.set["with"] {
		t.Errorf("%+v, %v", o, err)
	}
	o, err = parseUp("--state", "/tmp/x", "--nodes=0", "--port", "6443", "--without", "lws,kwok", "--feature-gates=A=true")
	if err != nil || o.nodes != 0 || o.port != 6443 || !slices.Equal(o.without, []string{"kwok", "lws"}) || o.featureGates != "A=true" {
		t.Errorf("%+v, %v", o, err)
	}
}

func TestMisuseIsToldApartFromFailure(t *testing.T) {
	for _, args := range [][]string{
		{}, {"fly"}, {"up", "--nodes", "many"}, {"up", "--nodes", "-1"}, {"up", "--port", "70000"}, {"up", "--no-such-flag"},
		{"up", "--without", "etcd"}, {"up", "--with", "tea"}, {"up", "--with", "kueue", "--without", "lws"}, {"up", "--name", "a/b"}, {"up", "now"}, {"restart"}, {"restart", "kubelets"}, {"restart", "machine"}, {"load-image"},
		{"nodes", "add", "none"}, {"nodes", "drain", "gpu-0"}, {"status", "-o", "xml"}, {"stop", "etcd", "apiserver"},
	} {
		if got := dispatch(args); got != 2 {
			t.Errorf("%v exits with %d", args, got)
		}
	}
	state := t.TempDir() + "/none"
	for _, args := range [][]string{{"status", "--state", state}, {"stop", "etcd", "--state", state}, {"nodes", "--state", state, "add", "2"},
		{"load-image", "--state", state, "image.tar"}} {
		if got := dispatch(args); got != 1 {
			t.Errorf("%v exits with %d", args, got)
		}
	}
	if got := dispatch([]string{"down", "--state", state}); got != 0 {
		t.Errorf("down of nothing exits with %d", got)
	}
	if got := dispatch([]string{"up", "--help"}); got != 0 {
		t.Errorf("--help exits with %d", got)
	}
}

func TestFlagsMayFollowWords(t *testing.T) {
	set := flag.NewFlagSet("nodes", flag.ContinueOnError)
	_, words, err := parseTarget(set, []string{"add", "--name", "x", "2", "--state", "/tmp/x"}, 2)
	if err != nil || !slices.Equal(words, []string{"add", "2"}) {
		t.Errorf("%v, %v", words, err)
	}
}
