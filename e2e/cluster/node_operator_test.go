//go:build node

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The operator as it is shipped: its image in two restricted pods, by config/default and nothing else.
func TestARealNodeRunsTheOperatorFromItsImage(t *testing.T) {
	archive := os.Getenv("INFERENCE_TEST_IMAGE")
	if archive == "" {
		t.Fatal("INFERENCE_TEST_IMAGE names no archive: run this by ./dev test --only node")
	}
	o := testCluster(t, "node-operator")
	o.nodes = 0
	c := mustUp(t, o)
	defer mustDown(t, o)
	n := nodeTest{t, c}
	if _, err := c.loadImage(t.Context(), archive); err != nil {
		t.Fatal(err)
	}
	root, err := checkoutRoot()
	if err != nil {
		t.Fatal(err)
	}
	n.kubectl("apply", "--server-side", "-k", filepath.Join(root, "config", "default"))
	n.awaitOperators()
	t.Run("PassesItsOwnRestrictions", func(t *testing.T) { isRestricted(nodeTest{t, c}) })
	t.Run("ServesModels", func(t *testing.T) { servesModels(nodeTest{t, c}, "first") })
	t.Run("GoesOnWithTheOtherReplicaWhenTheLeaderIsDeleted", func(t *testing.T) { leadsOn(nodeTest{t, c}) })
	t.Run("KeepsOneReplicaFromEviction", func(t *testing.T) { keepsOne(nodeTest{t, c}) })
	t.Run("IsAppliedAgainWithoutAChange", func(t *testing.T) {
		if out, err := (nodeTest{t, c}).tryKubectl("diff", "--server-side", "-k", filepath.Join(root, "config", "default")); err != nil {
			t.Errorf("kubectl diff: %v\n%s", err, out)
		}
	})
}

const operatorPods = "-lapp.kubernetes.io/name=inference-operator,app.kubernetes.io/component=operator"

func (n nodeTest) awaitOperators() {
	n.Helper()
	out, err := n.tryKubectl("rollout", "status", "deployment/inference-operator", "-n", "inference-system", "--timeout=120s")
	if err == nil {
		return
	}
	described, _ := n.tryKubectl("describe", "pods", "-n", "inference-system", operatorPods)
	logs, _ := n.tryKubectl("logs", "-n", "inference-system", operatorPods, "--tail=20")
	n.Fatalf("%s\n%s\n%s", out, described, logs)
}

// leader is the pod that holds the Lease.
func (n nodeTest) leader() string {
	holder, _ := n.tryKubectl("get", "lease", "inference-operator", "-n", "inference-system", "-o", "jsonpath={.spec.holderIdentity}")
	pod, _, _ := strings.Cut(holder, "_")
	return pod
}

func isRestricted(n nodeTest) {
	pods := strings.Fields(n.kubectl("get", "pods", "-n", "inference-system", operatorPods, "-o", "jsonpath={.items[*].metadata.name}"))
	if len(pods) != 2 {
		n.Fatalf("pods %v", pods)
	}
	pid, err := exec.Command("pgrep", "-f", "^/usr/bin/inference-operator").Output()
	if err != nil {
		n.Fatal(err)
	}
	status := readText(filepath.Join("/proc", strings.Fields(string(pid))[0], "status"))
	for _, line := range []string{"Uid:\t65532\t65532\t65532\t65532", "CapEff:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2"} {
		if !strings.Contains(status, line) {
			n.Errorf("no %q in\n%s", line, status)
		}
	}
}

// servesModels makes a model and waits until its child is there and its status told.
func servesModels(n nodeTest, name string) {
	n.Helper()
	model := object{
		"apiVersion": "inference-operator.dev/v1alpha1", "kind": "InferenceDeployment", "metadata": object{"name": name},
		"spec": object{"model": object{"uri": "file:///models/m"}, "parallelism": object{"tensor": 1}, "suspend": true},
	}
	path := "/apis/inference-operator.dev/v1alpha1/namespaces/default/inferencedeployments"
	if err := n.c.create(n.Context(), path, model, nil); err != nil {
		n.Fatal(err)
	}
	n.kubectl("wait", "--for=condition=Ready", "--timeout=90s", "inferencedeployment/"+name)
	if got := n.kubectl("get", "deployment", name, "-o", "jsonpath={.spec.replicas}"); got != "0" {
		n.Errorf("replicas of the suspended model: %q", got)
	}
}

func leadsOn(n nodeTest) {
	first := n.leader()
	n.kubectl("delete", "pod", first, "-n", "inference-system", "--timeout=60s")
	if pollEvery(n.Context(), 200*time.Millisecond, 30*time.Second, func() bool { second := n.leader(); return second != "" && second != first }) != nil {
		n.Fatalf("nobody leads after %s", first)
	}
	servesModels(n, "second")
	n.awaitOperators()
}

func keepsOne(n nodeTest) {
	allowed := func() string {
		got, _ := n.tryKubectl("get", "poddisruptionbudget", "inference-operator", "-n", "inference-system", "-o", "jsonpath={.status.disruptionsAllowed}")
		return got
	}
	if pollEvery(n.Context(), time.Second, 30*time.Second, func() bool { return allowed() == "1" }) != nil {
		n.Errorf("disruptions allowed: %q", allowed())
	}
}
