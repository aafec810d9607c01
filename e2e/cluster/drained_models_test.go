//go:build node

package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"inference-operator.dev/images"
)

// The fake engine in images that differ by what else is in them: the tags of upstream's would be versions.
const (
	curlImage     = "localhost/vllm/vllm-openai:with-curl"
	wgetImage     = "localhost/vllm/vllm-openai:with-wget"
	crashImage    = "localhost/vllm/vllm-openai:with-crashing-wget"
	pythonImage   = "localhost/vllm/vllm-openai:with-python3"
	shellImage    = "localhost/vllm/vllm-openai:with-sh"
	sglangImage   = "localhost/lmsysorg/sglang:with-curl"
	contractImage = "localhost/contract:with-curl"
	wrappedImage  = "localhost/contract:wrapped"
)

// drainTest is a test of models that are rendered by the command line tool and served by the fake engine.
type drainTest struct {
	nodeTest
	cli, engine string // programs
	folder      string // of the node: models and journals
}

// model is an InferenceDeployment.
type model struct {
	name, image     string
	engine, version string // empty: vllm, the newest
	replicas, nodes int
	drain           int // seconds; 0: the default
	env             map[string]string
	uri             string   // empty: an empty folder of the node
	cpu, memory     string   // empty: as little as fits this node's few CPUs beside others
	args, mounts    []string // folders of the node
}

func newDrainTest(n nodeTest) drainTest {
	n.Helper()
	d := drainTest{nodeTest: n, cli: os.Getenv("INFERENCE_TEST_CLI"), folder: n.TempDir()}
	if _, err := os.Stat(d.cli); err != nil {
		n.Fatalf("INFERENCE_TEST_CLI has to name kubectl-inference: %v", err)
	}
	for _, each := range []string{"models/tiny", "journal"} {
		if err := os.MkdirAll(filepath.Join(d.folder, each), 0o755); err != nil {
			n.Fatal(err)
		}
	}
	d.engine = filepath.Join(d.folder, "engine")
	root, err := checkoutRoot()
	if err != nil {
		n.Fatal(err)
	}
	build := exec.Command("go", "build", "-trimpath", "-o", d.engine, ".")
	build.Dir = filepath.Join(root, "e2e", "engine")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		n.Fatalf("%v\n%s", err, out)
	}
	d.loadImages()
	return d
}

// program puts a program of this machine, with its libraries, into an image.
func (d drainTest) program(source, target string) []images.File {
	d.Helper()
	files, err := images.Program(source, target)
	if err != nil {
		d.Fatal(err)
	}
	return files
}

// python is an interpreter with the modules that it comes with.
func (d drainTest) python() []images.File {
	d.Helper()
	interpreter, err := filepath.EvalSymlinks("/usr/bin/python3")
	if err != nil {
		d.Fatal(err)
	}
	files := d.program(interpreter, "/usr/bin/python3")
	library := filepath.Join("/usr/lib", filepath.Base(interpreter))
	err = filepath.WalkDir(library, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".py") || strings.Contains(path, "/test") {
			return err
		}
		files = append(files, images.File{Path: path, Mode: 0o644, Source: path})
		return nil
	})
	modules, globErr := filepath.Glob(filepath.Join(library, "lib-dynload", "*.so"))
	if err != nil || globErr != nil {
		d.Fatal(err, globErr)
	}
	for _, each := range modules {
		files = append(files, d.program(each, each)...)
	}
	return files
}

// loadImages makes an image for each set of clients. A static busybox has a wget that its shell always finds, and that crashes on each
// connection where it was linked with glibc, as Debian's is; the other images have dash.
func (d drainTest) loadImages() {
	d.Helper()
	path := []string{"PATH=/usr/local/bin:/usr/bin:/bin"}
	with := func(files []images.File, more ...images.File) []images.File { return slices.Concat(files, more) }
	engine := func(target string) images.File { return images.File{Path: target, Mode: 0o755, Source: d.engine} }
	dash := slices.Concat(d.program("/bin/dash", "/bin/sh"), d.program("/bin/sleep", "/bin/sleep"), d.program("/usr/bin/timeout", "/usr/bin/timeout"))
	curl := slices.Concat(dash, d.program("/usr/bin/curl", "/usr/bin/curl"), d.program("/usr/bin/getent", "/usr/bin/getent"))
	busybox, err := images.Busybox(crashImage, systemProgram("busybox"))
	if err != nil {
		d.Fatal(err)
	}
	const wrapper = "#!/bin/sh\n/usr/bin/engine \"$@\"\necho \"the engine has ended\"\n"
	script := images.File{Path: "/usr/bin/start", Mode: 0o755, Content: []byte(wrapper)}
	for _, each := range []images.Image{
		{Name: curlImage, Files: with(curl, engine("/usr/bin/vllm"))},
		{Name: wgetImage, Files: with(slices.Concat(dash, d.program("/usr/bin/wget", "/usr/bin/wget")), engine("/usr/bin/vllm"))},
		{Name: crashImage, Files: with(busybox.Files, engine("/usr/bin/vllm"))},
		{Name: pythonImage, Files: with(slices.Concat(dash, d.python()), engine("/usr/bin/vllm"))},
		{Name: shellImage, Files: with(dash, engine("/usr/bin/vllm"))},
		{Name: sglangImage, Files: with(curl, engine("/usr/bin/python3"))},
		{Name: contractImage, Files: with(curl, engine("/usr/bin/engine")), Entrypoint: []string{"/usr/bin/engine"}},
		{Name: wrappedImage, Files: with(curl, engine("/usr/bin/engine"), script), Entrypoint: []string{"/usr/bin/start"}},
	} {
		each.Env = path
		var archive bytes.Buffer
		if err := each.Write(&archive); err != nil {
			d.Fatal(err)
		}
		if err := d.c.importImages(d.Context(), &archive, []string{each.Name}); err != nil {
			d.Fatal(err)
		}
	}
}

// spec is the InferenceDeployment.
func (d drainTest) spec(m model) object {
	engine := object{"name": cmp.Or(m.engine, "vllm"), "image": m.image}
	if m.version != "" {
		engine["version"] = m.version
	}
	variables := []object{{"name": "FAKE_JOURNAL", "value": "/journal"}, {"name": "FAKE_TEARDOWN", "value": "2s"}}
	for _, name := range slices.Sorted(maps.Keys(m.env)) {
		variables = append(variables, object{"name": name, "value": m.env[name]})
	}
	engine["env"] = variables
	if len(m.args) > 0 {
		engine["args"] = m.args
	}
	quantities := object{"cpu": cmp.Or(m.cpu, "120m"), "memory": cmp.Or(m.memory, "128Mi")}
	mounts, volumes := []object{{"name": "journal", "mountPath": "/journal"}}, []object{{"name": "journal", "hostPath": object{"path": d.folder + "/journal"}}}
	for index, folder := range m.mounts {
		name := fmt.Sprint("folder-", index)
		mounts = append(mounts, object{"name": name, "mountPath": folder, "readOnly": true})
		volumes = append(volumes, object{"name": name, "hostPath": object{"path": folder}})
	}
	if len(m.mounts) > 0 { // what is mounted wants to write somewhere
		mounts, volumes = append(mounts, object{"name": "tmp", "mountPath": "/tmp"}), append(volumes, object{"name": "tmp", "emptyDir": object{}})
	}
	nodes := max(1, m.nodes)
	spec := object{
		"model": object{"uri": cmp.Or(m.uri, "file://"+d.folder+"/models/tiny")}, "nodes": nodes, "parallelism": object{"tensor": nodes, "pipeline": 1},
		"replicas": m.replicas, "engine": engine, "resources": object{"cpu": 1, "memory": cmp.Or(m.memory, "128Mi"), "sharedMemory": "16Mi"},
		"podTemplate": object{"spec": object{
			"containers": []object{{
				"name": "engine", "resources": object{"requests": quantities, "limits": quantities},
				"volumeMounts": mounts,
			}},
			"volumes": volumes,
		}},
	}
	if m.drain > 0 {
		spec["drain"] = object{"timeoutSeconds": m.drain}
	}
	return object{"apiVersion": "inference-operator.dev/v1alpha1", "kind": "InferenceDeployment",
		"metadata": object{"name": m.name, "namespace": "default"}, "spec": spec}
}

// rendered is what the command line tool makes of it.
func (d drainTest) rendered(m model) []byte {
	d.Helper()
	input, err := json.Marshal(d.spec(m))
	if err != nil {
		d.Fatal(err)
	}
	render := exec.Command(d.cli, "render", "-f", "-", "--cluster", "lws")
	var out, messages bytes.Buffer
	render.Stdin, render.Stdout, render.Stderr = bytes.NewReader(input), &out, &messages
	if err := render.Run(); err != nil {
		d.Fatalf("%v\n%s", err, &messages)
	}
	return out.Bytes()
}

func (d drainTest) pipe(content []byte, args ...string) {
	d.Helper()
	command := exec.Command(filepath.Join(d.c.Bin, "kubectl"), append([]string{"--kubeconfig", d.c.kubeconfig()}, args...)...)
	command.Stdin = bytes.NewReader(content)
	if out, err := command.CombinedOutput(); err != nil {
		d.Fatalf("kubectl %v: %v\n%s", args, err, out)
	}
}

func (d drainTest) apply(m model) {
	d.Helper()
	d.pipe(d.rendered(m), "apply", "--server-side", "--force-conflicts", "-f", "-")
}

func (d drainTest) remove(m model) {
	d.Helper()
	d.pipe(d.rendered(m), "delete", "--cascade=foreground", "--timeout=90s", "-f", "-")
	d.awaitPods(m.name, 0)
}

// serve returns once the newest spec is served by all replicas.
func (d drainTest) serve(m model) {
	d.Helper()
	d.apply(m)
	d.kubectl("rollout", "status", "deployment/"+m.name, "--timeout=240s")
}

func (d drainTest) await(what string, limit time.Duration, done func() bool) {
	d.Helper()
	if pollEvery(d.Context(), 200*time.Millisecond, limit, done) != nil {
		pods, _ := d.tryKubectl("get", "pods,events", "-o", "wide")
		d.Fatalf("waited in vain for %s: %s\n%s", limit, what, pods)
	}
}

func (d drainTest) awaitPods(name string, count int) {
	d.Helper()
	d.await(fmt.Sprintf("%d pods of %s", count, name), 2*time.Minute, func() bool { return len(d.pods(name)) == count })
}

// awaitReady returns once a pod of the model, of a group its leader, is served through the Service.
func (d drainTest) awaitReady(m model) {
	d.Helper()
	d.await(m.name+" is ready", 90*time.Second, func() bool { return d.ready(m.name) >= 1 })
	d.await(m.name+" is reached", 30*time.Second, func() bool { // kube-proxy comes a moment later
		out, err := d.client(m, 0, 1).Output()
		return err == nil && strings.Contains(string(out), `"whole":1`)
	})
}

// awaitGone returns once the pod is gone, which must be within limit since.
func (d drainTest) awaitGone(pod string, since time.Time, limit time.Duration) {
	d.Helper()
	d.await("end of "+pod, max(0, limit-time.Since(since)), func() bool { return d.phase(pod) == "" })
	d.Logf("%s was gone after %.0f s", pod, time.Since(since).Seconds())
}

func (d drainTest) pods(name string) []string {
	d.Helper()
	return strings.Fields(d.kubectl("get", "pods", "-l", "inference-operator.dev/name="+name, "-o", "jsonpath={.items[*].metadata.name}"))
}

// phase of a pod; empty when it is gone.
func (d drainTest) phase(pod string) string {
	d.Helper()
	return d.kubectl("get", "pod", pod, "--ignore-not-found", "-o", "jsonpath={.status.phase}")
}

// ready counts the addresses that the Service sends requests to.
func (d drainTest) ready(name string) int {
	d.Helper()
	// It fails where a slice has no list of endpoints yet.
	addresses, err := d.tryKubectl("get", "endpointslices", "-l", "kubernetes.io/service-name="+name+"-serve",
		"-o", "jsonpath={.items[*].endpoints[?(@.conditions.ready==true)].addresses[0]}")
	if err != nil {
		return 0
	}
	return len(strings.Fields(addresses))
}

func (d drainTest) evict(pod string) {
	d.Helper()
	eviction := object{"apiVersion": "policy/v1", "kind": "Eviction", "metadata": object{"name": pod, "namespace": "default"}}
	if err := d.c.call(d.Context(), http.MethodPost, "/api/v1/namespaces/default/pods/"+pod+"/eviction", "application/json", eviction, nil); err != nil {
		d.Fatal(err)
	}
}

func (d drainTest) journal(pod string) string { return filepath.Join(d.folder, "journal", pod+".log") }

// load is a client of a model's Service, in the network of the node.
type load struct {
	d       drainTest
	command *exec.Cmd
	out     *bufio.Reader
}

// summary is what the client saw: see e2e/engine.
type summary struct {
	Begun, Whole, Truncated, Refused int
	LongestPauseSeconds              float64
	Failures                         []string
}

// client streams from the model's Service: at a rate of 0 one stream in all.
func (d drainTest) client(m model, rate float64, tokens int) *exec.Cmd {
	d.Helper()
	address := d.kubectl("get", "service", m.name+"-serve", "-o", "jsonpath={.spec.clusterIP}")
	argv, err := d.c.inMachine(d.engine, "load", "--url=http://"+address, "--model="+m.name, fmt.Sprint("--rate=", rate), fmt.Sprint("--tokens=", tokens))
	if err != nil {
		d.Fatal(err)
	}
	return exec.Command(argv[0], argv[1:]...)
}

// stream begins streams, and returns once the first has its first token.
func (d drainTest) stream(m model, rate float64, tokens int) *load {
	d.Helper()
	l := &load{d: d, command: d.client(m, rate, tokens)}
	l.command.Stderr = os.Stderr
	out, err := l.command.StdoutPipe()
	if err != nil {
		d.Fatal(err)
	}
	if err := l.command.Start(); err != nil {
		d.Fatal(err)
	}
	d.Cleanup(func() { l.command.Process.Kill() })
	l.out = bufio.NewReader(out)
	if line, err := l.out.ReadString('\n'); err != nil || line != "streaming\n" {
		d.Fatalf("%s streams nothing: %q, %v", m.name, line, err)
	}
	return l
}

// stop begins no more streams, and returns when all have ended.
func (l *load) stop() summary {
	l.d.Helper()
	if err := l.command.Process.Signal(os.Interrupt); err != nil {
		l.d.Fatal(err)
	}
	return l.wait()
}

func (l *load) wait() summary {
	l.d.Helper()
	var sums summary
	if err := json.NewDecoder(l.out).Decode(&sums); err != nil {
		l.d.Fatal(err)
	}
	if err := l.command.Wait(); err != nil {
		l.d.Fatal(err)
	}
	return sums
}

// follower reads a pod's log to its end.
type follower struct {
	out  bytes.Buffer
	done chan struct{}
}

func (d drainTest) follow(pod string) *follower {
	f := &follower{done: make(chan struct{})}
	command := exec.Command(filepath.Join(d.c.Bin, "kubectl"), "--kubeconfig", d.c.kubeconfig(), "logs", "-f", pod)
	command.Stdout, command.Stderr = &f.out, &f.out
	if err := command.Start(); err != nil {
		d.Fatal(err)
	}
	go func() {
		command.Wait()
		close(f.done)
	}()
	return f
}

// text is all of it, once the pod has ended.
func (f *follower) text() string {
	<-f.done
	return f.out.String()
}
