package main

import (
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestASecondCommandWaitsUntilTheFirstEnds(t *testing.T) {
	state := filepath.Join(t.TempDir(), "one")
	var said strings.Builder
	say := &progress{&said}
	first, err := lockState(t.Context(), state, time.Second, say)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lockState(t.Context(), state, time.Millisecond, say); err == nil || !strings.Contains(err.Error(), "another command") {
		t.Errorf("second lock: %v", err)
	}
	if !strings.Contains(said.String(), "waiting for it") {
		t.Errorf("said %q", said.String())
	}
	time.AfterFunc(50*time.Millisecond, first.release)
	second, err := lockState(t.Context(), state, time.Minute, say)
	if err != nil {
		t.Fatal(err)
	}
	second.release()
}

func TestAFolderOfSomebodyElseIsNotEmptied(t *testing.T) {
	state := t.TempDir()
	precious := filepath.Join(state, "thesis.tex")
	if err := os.WriteFile(precious, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	silent := &progress{&strings.Builder{}}
	if err := down(t.Context(), state, nothing, silent); err == nil {
		t.Error("down did not refuse")
	}
	if err := clearRemains(state, silent); err == nil {
		t.Error("up did not refuse")
	}
	if _, err := os.Stat(precious); err != nil {
		t.Error(err)
	}
}

func TestRemainsOfADeadRunAreStoppedAndRemoved(t *testing.T) {
	c := &cluster{state: filepath.Join(t.TempDir(), "half")}
	for _, dir := range []string{"run", "logs", "pki"} {
		if err := os.MkdirAll(c.path(dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	d, err := startDaemon(daemonPlan{argv: []string{"/bin/sleep", "60"}, dir: c.state, pidFile: c.pidFile("scheduler"), logFile: c.logFile("scheduler")})
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	if err := clearRemains(c.state, &progress{&said}); err != nil {
		t.Fatal(err)
	}
	<-d.gone
	if _, err := os.Stat(c.state); !os.IsNotExist(err) {
		t.Error("the state is still there")
	}
	if !strings.Contains(said.String(), "stopped 1 of its processes") || strings.Count(said.String(), "\n") != 1 {
		t.Errorf("said %q", said.String())
	}
}

func TestTheDeathOfAComponentEndsTheWaitWithItsLog(t *testing.T) {
	c := &cluster{state: t.TempDir()}
	log := c.path("etcd.log")
	d, err := startDaemon(daemonPlan{argv: []string{"/bin/sh", "-c", "echo no space left; exit 7"}, dir: c.state, pidFile: c.path("pid"), logFile: log})
	if d == nil {
		t.Fatal(err)
	}
	s := newSupervisor(c, &progress{&strings.Builder{}})
	if err := os.MkdirAll(c.path("logs"), 0o700); err != nil {
		t.Fatal(err)
	}
	<-d.gone
	if err := os.Rename(log, c.logFile("etcd")); err != nil {
		t.Fatal(err)
	}
	s.started, s.daemons["etcd"] = components[:1], d
	err = s.await(t.Context(), "for ever", func() (bool, error) { return false, nil })
	if err == nil || !strings.Contains(err.Error(), "etcd died") || !strings.Contains(err.Error(), "exit status 7") ||
		!strings.Contains(err.Error(), "no space left") {
		t.Errorf("got %v", err)
	}
}

func TestKeysAreOfThisClusterAndPrivate(t *testing.T) {
	bin := t.TempDir()
	if err := os.MkdirAll(filepath.Join(bin, "share"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bin, "share", "kwok-stages.yaml"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	made := func() *cluster {
		c := &cluster{state: filepath.Join(t.TempDir(), "c"), Bin: bin, Ports: map[string]int{"apiserver": 6443}}
		if err := c.writeConfiguration(); err != nil {
			t.Fatal(err)
		}
		return c
	}
	c, other := made(), made()
	if len(c.Token) < 32 || c.Token == other.Token {
		t.Errorf("tokens %q and %q", c.Token, other.Token)
	}
	roots := x509.NewCertPool()
	roots.AddCert(readCertificate(t, c.pki("ca.crt")))
	for _, address := range []string{"127.0.0.1", "localhost"} {
		options := x509.VerifyOptions{Roots: roots, DNSName: address, CurrentTime: time.Now()}
		if _, err := readCertificate(t, c.pki("apiserver.crt")).Verify(options); err != nil {
			t.Error(err)
		}
		if _, err := readCertificate(t, other.pki("apiserver.crt")).Verify(options); err == nil {
			t.Error("the certificate of another cluster is trusted")
		}
	}
	if got := readCertificate(t, c.pki("scheduler.crt")).Subject.CommonName; got != "system:kube-scheduler" {
		t.Errorf("the scheduler is %s", got)
	}
	err := filepath.WalkDir(c.state, func(path string, entry os.DirEntry, err error) error {
		if info, _ := entry.Info(); entry.Type().IsRegular() && info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func readCertificate(t *testing.T, file string) *x509.Certificate {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(content)
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

func TestGatesAreTheSameEverywhereAndNativeGangsCanBeTurnedOff(t *testing.T) {
	for given, want := range map[string]string{
		"":                             "--feature-gates=GenericWorkload=true",
		"CompositePodGroup=true":       "--feature-gates=GenericWorkload=true,CompositePodGroup=true",
		"GenericWorkload=false":        "--feature-gates=GenericWorkload=false",
		"A=true,GenericWorkload=false": "--feature-gates=A=true,GenericWorkload=false",
	} {
		c := &cluster{FeatureGates: given, Ports: map[string]int{}}
		for _, args := range [][]string{apiserverArgs(c), controllerManagerArgs(c), schedulerArgs(c)} {
			if !strings.Contains(strings.Join(args, " "), want) {
				t.Errorf("%q gives %q", given, args)
			}
		}
		served := strings.Contains(strings.Join(apiserverArgs(c), " "), "scheduling.k8s.io/v1beta1=true")
		if served != !strings.Contains(given, "GenericWorkload=false") {
			t.Errorf("%q: the API is served: %v", given, served)
		}
	}
}

func TestTheSchedulerAloneCanHaveOtherGates(t *testing.T) {
	c := &cluster{SchedulerGates: "GenericWorkload=false", Ports: map[string]int{}}
	if args := schedulerArgs(c); args[len(args)-1] != "--feature-gates=GenericWorkload=false" {
		t.Errorf("scheduler: %q", args)
	}
	if args := strings.Join(apiserverArgs(c), " "); !strings.Contains(args, "scheduling.k8s.io/v1beta1=true") || strings.Contains(args, "GenericWorkload=false") {
		t.Errorf("API server: %q", args)
	}
}

func TestEveryListenerIsOnTheLoopbackAddress(t *testing.T) {
	c := &cluster{Ports: map[string]int{}}
	for index, each := range components {
		for offset, port := range each.ports {
			c.Ports[port] = 20000 + 10*index + offset
		}
		for _, arg := range each.args(c) {
			if strings.Contains(arg, "0.0.0.0") || strings.Contains(arg, "=:") {
				t.Errorf("%s listens on %s", each.name, arg)
			}
		}
	}
}

func TestWebhooksAreServedByURLAndPodsOfOthersAreLeftAlone(t *testing.T) {
	configuration := object{"metadata": object{"name": "x"}, "webhooks": []any{
		object{"name": "mpod.kb.io", "clientConfig": object{"service": object{"path": "/pod"}}},
		object{"name": "mleaderworkerset.kb.io", "clientConfig": object{"service": object{"path": "/set"}}},
	}}
	if err := serveByURL(configuration, "https://127.0.0.1:1", []byte("CA"), onlyPodsOfGroups); err != nil {
		t.Fatal(err)
	}
	content, err := json.Marshal(configuration["webhooks"])
	if err != nil {
		t.Fatal(err)
	}
	const want = `[{"clientConfig":{"caBundle":"Q0E=","url":"https://127.0.0.1:1/pod"},"name":"mpod.kb.io",` +
		`"objectSelector":{"matchExpressions":[{"key":"leaderworkerset.sigs.k8s.io/name","operator":"Exists"}]}},` +
		`{"clientConfig":{"caBundle":"Q0E=","url":"https://127.0.0.1:1/set"},"name":"mleaderworkerset.kb.io"}]`
	if string(content) != want {
		t.Errorf("got %s", content)
	}
	broken := object{"webhooks": []any{object{"clientConfig": object{"url": "https://elsewhere"}}}}
	if err := serveByURL(broken, "https://127.0.0.1:1", nil, onlyPodsOfGroups); err == nil {
		t.Error("a webhook without service was accepted")
	}
}

func TestANodeIsReadyOnlyWhenPodsCanBePlaced(t *testing.T) {
	for text, want := range map[string]bool{
		`{"status":{}}`: false,
		`{"status":{"conditions":[{"type":"Ready","status":"True"}]},"spec":{"taints":[{"key":"nvidia.com/gpu"}]}}`:               true,
		`{"status":{"conditions":[{"type":"Ready","status":"True"}]},"spec":{"taints":[{"key":"node.kubernetes.io/not-ready"}]}}`: false,
		`{"status":{"conditions":[{"type":"Ready","status":"Unknown"}]}}`:                                                         false,
	} {
		var n node
		if err := json.Unmarshal([]byte(text), &n); err != nil {
			t.Fatal(err)
		}
		if n.ready() != want {
			t.Errorf("%s: %v", text, n.ready())
		}
	}
}
