//go:build node

// What a real node does, on this machine: needs root. ./dev test --only node runs it.
package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"inference-operator.dev/images"
)

const testImage = "localhost/node-test:1"

// testCluster is a cluster of this test alone, with its state where its logs are kept when the test fails.
func testCluster(t *testing.T, name string) upOptions {
	t.Helper()
	root, err := checkoutRoot()
	if err != nil {
		t.Fatal(err)
	}
	o := upOptions{nodes: 1, gpus: 8, with: []string{nodeKit}, set: map[string]bool{}}
	o.name, o.state = name, filepath.Join(root, "build", "cluster", name)
	return o
}

func mustUp(t *testing.T, o upOptions) *cluster {
	t.Helper()
	c, err := up(context.Background(), o, &progress{os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func mustDown(t *testing.T, o upOptions) {
	t.Helper()
	keep := nothing
	if t.Failed() {
		keep = keepLogs
	}
	if err := down(context.Background(), o.state, keep, &progress{os.Stderr}); err != nil {
		t.Error(err)
	}
}

// nodeTest is a test with the cluster that it is about.
type nodeTest struct {
	*testing.T
	c *cluster
}

func (n nodeTest) kubectl(args ...string) string {
	n.Helper()
	out, err := n.tryKubectl(args...)
	if err != nil {
		n.Fatalf("kubectl %v: %v\n%s", args, err, out)
	}
	return out
}

func (n nodeTest) tryKubectl(args ...string) (string, error) {
	out, err := exec.Command(filepath.Join(n.c.Bin, "kubectl"), append([]string{"--kubeconfig", n.c.kubeconfig()}, args...)...).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// run creates a pod, which only the real node can take, and returns once it is ready. The fake nodes have a taint.
func (n nodeTest) run(name string, container object, adjust func(spec object)) {
	n.Helper()
	for key, value := range map[string]any{"name": "main", "image": testImage, "imagePullPolicy": "Never"} {
		container[key] = value
	}
	spec := object{"containers": []object{container}, "terminationGracePeriodSeconds": 1}
	if adjust != nil {
		adjust(spec)
	}
	pod := object{"apiVersion": "v1", "kind": "Pod", "metadata": object{"name": name, "labels": object{"app": name}}, "spec": spec}
	if err := n.c.create(n.Context(), "/api/v1/namespaces/default/pods", pod, nil); err != nil {
		n.Fatal(err)
	}
	if out, err := n.tryKubectl("wait", "--for=condition=Ready", "--timeout=90s", "pod/"+name); err != nil {
		described, _ := n.tryKubectl("describe", "pod", name)
		n.Fatalf("%s\n%s", out, described)
	}
}

func sh(script string) object { return object{"command": []string{"/bin/sh", "-c", script}} }

const forEver = "trap 'exit 0' TERM; while :; do sleep 1 & wait $!; done"

func resources(quantities object) object {
	container := sh(forEver)
	container["resources"] = object{"requests": quantities, "limits": quantities}
	return container
}

func TestARealNode(t *testing.T) {
	o := testCluster(t, "node-test")
	before := tracesOf(t, o)
	c := mustUp(t, o)
	n := nodeTest{t, c}
	loadTestImage(n)
	t.Run("StaysAsItIsWhenItIsBroughtUpTwice", func(t *testing.T) { staysUp(nodeTest{t, c}, o) })
	t.Run("OffersCPUsAndGPUsAndIsLeftAloneByKwok", func(t *testing.T) { offersGPUs(nodeTest{t, c}) })
	t.Run("GivesAGuaranteedPodACPUOfItsOwn", func(t *testing.T) { givesExclusiveCPU(nodeTest{t, c}) })
	t.Run("GivesGPUsToTheContainerThatAskedForThem", func(t *testing.T) { givesGPUs(nodeTest{t, c}) })
	t.Run("ResolvesAndReachesServicesFromPods", func(t *testing.T) { reachesServices(nodeTest{t, c}) })
	t.Run("LetsAPodAskTheAPIServerAsItsServiceAccount", func(t *testing.T) { asksAPIServer(nodeTest{t, c}) })
	t.Run("RunsThePreStopHookToItsEndBeforeTheSignal", func(t *testing.T) { runsPreStop(nodeTest{t, c}) })
	t.Run("KeepsPodsWhileItsProgramsAreStartedAnew", func(t *testing.T) { survivesRestarts(nodeTest{t, c}) })
	t.Run("LeavesAnotherClusterAlone", func(t *testing.T) { livesBesideAnother(nodeTest{t, c}) })
	mustDown(t, o)
	compareTraces(t, before, tracesOf(t, o))
}

func loadTestImage(n nodeTest) {
	n.Helper()
	image, err := images.Busybox(testImage, systemProgram("busybox"))
	if err != nil {
		n.Fatal(err)
	}
	for _, name := range []string{"getent", "curl"} {
		program, err := images.Program(systemProgram(name), "/usr/bin/"+name)
		if err != nil {
			n.Fatal(err)
		}
		image.Files = append(image.Files, program...)
	}
	file, err := os.Create(filepath.Join(n.TempDir(), "image.tar"))
	if err != nil {
		n.Fatal(err)
	}
	if err := image.Write(file); err != nil {
		n.Fatal(err)
	}
	file.Close()
	if names, err := n.c.loadImage(n.Context(), file.Name()); err != nil || !slices.Equal(names, []string{testImage}) {
		n.Fatalf("%v, %v", names, err)
	}
}

func staysUp(n nodeTest, o upOptions) {
	pids := func() map[string]int {
		found := map[string]int{}
		for _, each := range n.c.report(n.Context()).Components {
			found[each.Name] = each.PID
		}
		return found
	}
	first := pids()
	mustUp(n.T, o)
	if again := pids(); !maps.Equal(first, again) || len(again) != len(n.c.present()) {
		n.Errorf("processes %v became %v", first, again)
	}
}

func offersGPUs(n nodeTest) {
	const shown = `jsonpath={.metadata.labels.nvidia\.com/gpu\.product} {.status.allocatable.nvidia\.com/gpu} ` +
		`{.status.nodeInfo.containerRuntimeVersion}`
	if got := n.kubectl("get", "node", nodeName, "-o", shown); !strings.HasPrefix(got, "NVIDIA-H100-80GB-HBM3 8 containerd://") {
		n.Errorf("the real node: %s", got)
	}
	if got := n.kubectl("get", "node", "gpu-0", "-o", shown); strings.Contains(got, "containerd://") {
		n.Errorf("the fake node: %s", got)
	}
	configz := n.kubectl("get", "--raw", "/api/v1/nodes/"+nodeName+"/proxy/configz")
	if !strings.Contains(configz, `"cpuManagerPolicy":"static"`) {
		n.Errorf("configz: %s", configz)
	}
}

func givesExclusiveCPU(n nodeTest) {
	n.run("guaranteed", resources(object{"cpu": "1", "memory": "64Mi"}), nil)
	n.run("other", sh(forEver), nil)
	if got := n.kubectl("get", "pod", "guaranteed", "-o", "jsonpath={.status.qosClass}"); got != "Guaranteed" {
		n.Errorf("QoS class %s", got)
	}
	cpus := func(pod string) string {
		status := n.kubectl("exec", pod, "--", "grep", "Cpus_allowed_list", "/proc/self/status")
		return strings.TrimSpace(strings.TrimPrefix(status, "Cpus_allowed_list:"))
	}
	own := cpus("guaranteed")
	if strings.ContainsAny(own, ",-") {
		n.Errorf("the Guaranteed pod may run on %s", own)
	}
	// The shared pool is told to other pods within the CPU manager's period.
	if pollUntil(n.Context(), 60*time.Second, func() bool { return !slices.Contains(parseCPUs(n.T, cpus("other")), own) }) != nil {
		n.Errorf("CPU %s is not exclusive: the other pod may run on %s", own, cpus("other"))
	}
	n.kubectl("delete", "pod", "guaranteed", "other")
}

// parseCPUs spells out a list such as 0-2,4.
func parseCPUs(t *testing.T, list string) []string {
	t.Helper()
	var cpus []string
	for part := range strings.SplitSeq(list, ",") {
		var first, last int
		if count, _ := fmt.Sscanf(part, "%d-%d", &first, &last); count == 0 {
			t.Fatalf("no list of CPUs: %s", list)
		} else if count == 1 {
			last = first
		}
		for cpu := first; cpu <= last; cpu++ {
			cpus = append(cpus, fmt.Sprint(cpu))
		}
	}
	return cpus
}

func givesGPUs(n nodeTest) {
	n.run("two-gpus", resources(object{"cpu": "1", "memory": "64Mi", "nvidia.com/gpu": "2"}), nil)
	if got := n.kubectl("exec", "two-gpus", "--", "nvidia-smi", "-L"); strings.Count(got, "UUID") != 2 {
		n.Errorf("nvidia-smi -L: %s", got)
	}
	if got := n.kubectl("exec", "two-gpus", "--", "nvidia-smi", "topo", "-m"); !strings.Contains(got, "GPU1\tNV18") {
		n.Errorf("nvidia-smi topo -m: %s", got)
	}
	n.kubectl("delete", "pod", "two-gpus")
}

func reachesServices(n nodeTest) {
	server := sh("mkdir -p /www; hostname > /www/index.html; exec httpd -f -p 8080 -h /www")
	server["readinessProbe"] = object{"httpGet": object{"path": "/", "port": 8080}, "periodSeconds": 1}
	n.run("web", server, nil)
	n.run("client", sh(forEver), nil)
	n.kubectl("expose", "pod", "web", "--port=80", "--target-port=8080")
	var got string
	if pollEvery(n.Context(), time.Second, 60*time.Second, func() bool {
		got, _ = n.tryKubectl("exec", "client", "--", "curl", "-sS", "--max-time", "5", "http://web/")
		return got == "web"
	}) != nil {
		n.Errorf("curl http://web/: %s", got)
	}
	address := n.kubectl("get", "service", "web", "-o", "jsonpath={.spec.clusterIP}")
	if got := n.kubectl("exec", "client", "--", "getent", "hosts", "web.default"); !strings.HasPrefix(got, address+" ") {
		n.Errorf("web.default is %s, not %s", got, address)
	}
	// A pod that calls its own Service comes back to itself.
	if got := n.kubectl("exec", "web", "--", "curl", "-sS", "--max-time", "5", "http://web.default.svc/"); got != "web" {
		n.Errorf("the pod's call of itself: %s", got)
	}
	if out, err := n.tryKubectl("exec", "client", "--", "getent", "hosts", "absent.default"); err == nil {
		n.Errorf("absent.default resolves to %s", out)
	}
	n.kubectl("delete", "pod", "web", "client")
	n.kubectl("delete", "service", "web")
}

func asksAPIServer(n nodeTest) {
	n.run("asker", sh("echo started; "+forEver), nil)
	if got := n.kubectl("logs", "asker"); got != "started" {
		n.Errorf("logs: %q", got)
	}
	const ask = `cd /var/run/secrets/kubernetes.io/serviceaccount && curl -sS --max-time 10 --cacert ca.crt ` +
		`-H "Authorization: Bearer $(cat token)" https://kubernetes.default.svc/api/v1/namespaces/default/pods/asker`
	if got := n.kubectl("exec", "asker", "--", "/bin/sh", "-c", ask); !strings.Contains(got, `system:serviceaccount:default:default`) {
		n.Errorf("the API server answers %s", got)
	}
	n.kubectl("delete", "pod", "asker")
}

func runsPreStop(n nodeTest) {
	folder := n.TempDir()
	container := sh("trap 'echo signal >> /out/order; exit 0' TERM; while :; do sleep 1 & wait $!; done")
	container["volumeMounts"] = []object{{"name": "out", "mountPath": "/out"}}
	container["lifecycle"] = object{"preStop": object{"exec": object{"command": []string{"/bin/sh", "-c", "sleep 3; echo hook >> /out/order"}}}}
	n.run("drained", container, func(spec object) {
		spec["terminationGracePeriodSeconds"] = 60
		spec["volumes"] = []object{{"name": "out", "hostPath": object{"path": folder}}}
	})
	n.kubectl("delete", "pod", "drained", "--timeout=60s")
	if content, _ := os.ReadFile(filepath.Join(folder, "order")); string(content) != "hook\nsignal\n" {
		n.Errorf("order: %q", content)
	}
}

func survivesRestarts(n nodeTest) {
	n.run("steady", sh("date > /started; "+forEver), nil)
	container := n.kubectl("get", "pod", "steady", "-o", "jsonpath={.status.containerStatuses[0].containerID}")
	for _, name := range []string{"containerd", "kubelet", "device-plugin", "kube-proxy"} {
		each, err := findComponent(name)
		if err != nil {
			n.Fatal(err)
		}
		say := &progress{os.Stderr}
		if err := n.c.kill(each, say); err != nil {
			n.Fatal(err)
		}
		if err := n.c.start(n.Context(), each, say); err != nil {
			n.Fatal(err)
		}
	}
	if err := newSupervisor(n.c, &progress{os.Stderr}).awaitGPUs(n.Context()); err != nil {
		n.Error(err)
	}
	n.run("later", resources(object{"cpu": "1", "memory": "64Mi", "nvidia.com/gpu": "8"}), nil)
	if got := n.kubectl("get", "pod", "steady", "-o", "jsonpath={.status.containerStatuses[0].containerID}"); got != container {
		n.Errorf("container %s became %s", container, got)
	}
	if got := n.kubectl("exec", "steady", "--", "ls", "/started"); got != "/started" {
		n.Errorf("exec: %s", got)
	}
	n.kubectl("delete", "pod", "steady", "later")
}

func livesBesideAnother(n nodeTest) {
	o := testCluster(n.T, "node-other")
	before := tracesOf(n.T, o)
	other := nodeTest{n.T, mustUp(n.T, o)}
	loadTestImage(other)
	n.run("same", sh(forEver), nil)
	other.run("same", sh(forEver), nil)
	mustDown(n.T, o)
	compareTraces(n.T, before, tracesOf(n.T, o))
	if got := n.kubectl("exec", "same", "--", "echo", "alive"); got != "alive" {
		n.Errorf("the first cluster's pod: %s", got)
	}
	n.kubectl("delete", "pod", "same")
}

// However a cluster ends, its traces are gone after `down`, and an `up` right after the crash works.
func TestACrashLeavesNothing(t *testing.T) {
	o := testCluster(t, "node-crash")
	before := tracesOf(t, o)
	for _, reached := range []string{machineName, "apiserver", "containerd", "kubelet"} {
		command := exec.Command("/proc/self/exe", clusterVerb, "up", "--node", "--nodes=0", "--without=lws", "--name="+o.name, "--state="+o.state)
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		left := &cluster{state: o.state}
		err := pollUntil(t.Context(), startLimit, func() bool { _, ok := left.running(reached); return ok })
		command.Process.Kill()
		command.Wait()
		if err != nil {
			t.Errorf("%s was never started: %v", reached, err)
		}
		mustDown(t, o)
		compareTraces(t, before, tracesOf(t, o))
	}
	o.nodes, o.without = 0, []string{"lws"}
	c := mustUp(t, o)
	n := nodeTest{t, c}
	loadTestImage(n)
	n.run("held", resources(object{"cpu": "1", "memory": "64Mi", "nvidia.com/gpu": "1"}), nil)
	for _, each := range c.present() {
		id, ok := c.running(each.name)
		if !ok {
			t.Fatalf("%s does not run", each.name)
		}
		if err := id.kill(); err != nil {
			t.Fatal(err)
		}
	}
	again := nodeTest{t, mustUp(t, o)}
	if out, err := again.tryKubectl("get", "pod", "held"); err == nil {
		t.Errorf("the new cluster has the old one's pod: %s", out)
	}
	if err := os.RemoveAll(c.path("run")); err != nil { // the record of what runs is lost
		t.Fatal(err)
	}
	mustDown(t, o)
	compareTraces(t, before, tracesOf(t, o))
}

// tracesOf is all that a cluster may leave on a machine.
func tracesOf(t *testing.T, o upOptions) map[string]string {
	t.Helper()
	traces := map[string]string{}
	traces["mounts"] = readText("/proc/self/mountinfo")
	for _, name := range tunables {
		traces["kernel "+name] = readText("/proc/sys/" + name)
	}
	for _, file := range []string{"/var/lib/kubelet", "/var/lib/cni", "/var/lib/containerd", "/var/log/pods", "/var/log/containers",
		"/run/containerd", "/run/netns", "/etc/cni", "/usr/libexec/kubernetes", "/opt/cni", o.state} {
		_, err := os.Stat(file)
		traces["file "+file] = fmt.Sprint(err == nil)
	}
	out, err := exec.Command("ip", "-oneline", "link").CombinedOutput()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		traces["links"] += strings.Fields(line)[1]
	}
	all, err := hierarchies()
	if err != nil {
		t.Fatal(err)
	}
	for _, each := range all {
		traces["cgroups of "+each.root] = strings.Join(append(each.folders(cgroupName(o.state)), each.folders("kubepods")...), " ")
	}
	traces["processes"] = strings.Join(processesOf(o), " ")
	return traces
}

// processesOf a cluster, whatever they have become: by their command line, their cgroup or their working folder.
func processesOf(o upOptions) []string {
	var found []string
	folders, _ := filepath.Glob("/proc/[0-9]*")
	for _, folder := range folders {
		pid, _ := strconv.Atoi(filepath.Base(folder))
		if _, err := identify(pid); err != nil || pid == os.Getpid() { // also a zombie, which waits for the init to take note
			continue
		}
		place, _ := os.Readlink(filepath.Join(folder, "cwd"))
		all := readText(filepath.Join(folder, "cmdline")) + readText(filepath.Join(folder, "cgroup")) + place
		if strings.Contains(all, o.state) || strings.Contains(all, cgroupName(o.state)) {
			found = append(found, folder+" "+readText(filepath.Join(folder, "comm")))
		}
	}
	return found
}

func readText(file string) string {
	content, _ := os.ReadFile(file) // a process may end meanwhile
	return string(content)
}

func compareTraces(t *testing.T, before, after map[string]string) {
	t.Helper()
	for _, name := range sorted(slices.Collect(maps.Keys(after))) {
		if before[name] != after[name] {
			t.Errorf("%s: before\n%s\nafter\n%s", name, before[name], after[name])
		}
	}
}
