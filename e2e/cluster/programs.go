package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// program is one upstream command, built by `go build` inside its own tool module below tools/, so that each has the
// dependency versions it was released with.
type program struct {
	name    string // file name of the binary
	module  string // folder below tools/
	pkg     string // the command's import path
	ldflags string // besides stripFlags; VERSION stands for the required version of upstream
}

// Clients and kube-scheduler refuse a server that calls itself v0.0.0, so the version that a release script would stamp
// has to be stamped here.
const kubernetesStamp = "-X k8s.io/component-base/version.gitVersion=VERSION" +
	" -X k8s.io/component-base/version.gitMajor=MAJOR -X k8s.io/component-base/version.gitMinor=MINOR"

const stripFlags = "-s -w"

var programs = []program{
	{"kubectl", "kubernetes", "k8s.io/kubernetes/cmd/kubectl", kubernetesStamp},
	{"etcd", "etcd", "go.etcd.io/etcd/server/v3", ""},
	{"kwok", "kwok", "sigs.k8s.io/kwok/cmd/kwok", ""},
	{"lws", "lws", "sigs.k8s.io/lws/cmd", ""},
	{"kube-apiserver", "kubernetes", "k8s.io/kubernetes/cmd/kube-apiserver", kubernetesStamp},
	{"kube-controller-manager", "kubernetes", "k8s.io/kubernetes/cmd/kube-controller-manager", kubernetesStamp},
	{"kube-scheduler", "kubernetes", "k8s.io/kubernetes/cmd/kube-scheduler", kubernetesStamp},
}

// manifest is a file that `up` needs and that lies in an upstream module: it is copied into the cache beside the
// programs, so that a warm start needs neither the module cache nor the network.
type manifest struct {
	name     string // path below the cache folder
	module   string // folder below tools/
	upstream string // the module that holds the sources
	sources  []string
}

var manifests = []manifest{
	{"share/lws-crds.json", "lws", "sigs.k8s.io/lws", []string{
		"config/crd/bases/leaderworkerset.x-k8s.io_leaderworkersets.yaml",
		"config/crd/bases/disaggregatedset.x-k8s.io_disaggregatedsets.yaml",
	}},
	{"share/lws-webhooks.json", "lws", "sigs.k8s.io/lws", []string{"config/webhook/manifests.yaml"}},
	// kwok has no built-in behaviour: without stages it exits with "no stages found".
	{"share/kwok-stages.yaml", "kwok", "sigs.k8s.io/kwok", []string{
		"kustomize/stage/node/fast/node-initialize.yaml",
		"kustomize/stage/node/heartbeat-with-lease/node-heartbeat-with-lease.yaml",
		"kustomize/stage/pod/fast/pod-ready.yaml",
		"kustomize/stage/pod/fast/pod-complete.yaml",
		"kustomize/stage/pod/fast/pod-delete.yaml",
	}},
}

// edit replaces a text that stands once in the only source file of a program's package, while it is built.
type edit struct {
	program  string
	upstream string // the module of the file
	file     string
	old, new string
}

// kit is a set of programs and manifests that is built, and kept in the cache, as one.
type kit struct {
	programs  []program
	manifests []manifest
	edits     []edit
}

// base is what every cluster has.
var base = kit{programs: programs, manifests: manifests}

// addOns may be named by --with. Each is a kit of its own: who does not ask for it never builds it.
var addOns = map[string]kit{
	nodeKit: {programs: []program{
		{"kubelet", "node", "k8s.io/kubernetes/cmd/kubelet", kubernetesStamp},
		{"kube-proxy", "node", "k8s.io/kubernetes/cmd/kube-proxy", kubernetesStamp},
		{"device-plugin", "device-plugin", "inference-operator.dev/e2e/cluster/tools/device-plugin", ""},
		{"coredns", "coredns", "inference-operator.dev/e2e/cluster/tools/coredns", ""},
	}},
	"kueue": {
		programs: []program{{"kueue", "kueue", "sigs.k8s.io/kueue/cmd/kueue", ""}},
		manifests: []manifest{
			{"share/kueue-crds.json", "kueue", "sigs.k8s.io/kueue", kueueDefinitions},
			{"share/kueue-webhooks.json", "kueue", "sigs.k8s.io/kueue", []string{"config/components/webhook/manifests.yaml"}},
		},
		// Fixed in its source; components run in their cluster's state folder, and nobody may write to /etc.
		edits: []edit{{"kueue", "sigs.k8s.io/kueue", "cmd/kueue/main.go", `"/etc/kueue/metrics/certs"`, `"` + kueueCerts + `"`}},
	},
}

// toolModules lists the folders below tools/ that the programs come from, sorted and without repeats.
func (k kit) toolModules() []string {
	seen := map[string]bool{}
	var modules []string
	for _, p := range k.programs {
		if !seen[p.module] {
			seen[p.module] = true
			modules = append(modules, p.module)
		}
	}
	return sorted(modules)
}

// linkerFlags fills the version of upstreamModule, as the tool module's go.mod requires it, into a program's flags.
func linkerFlags(p program, goMod string) (string, error) {
	if p.ldflags == "" {
		return stripFlags, nil
	}
	version, ok := requiredVersion(goMod, "k8s.io/kubernetes")
	parts := strings.Split(strings.TrimPrefix(version, "v"), ".")
	if !ok || len(parts) < 3 {
		return "", fmt.Errorf("tools/%s/go.mod requires no release of k8s.io/kubernetes", p.module)
	}
	fill := strings.NewReplacer("VERSION", version, "MAJOR", parts[0], "MINOR", parts[1])
	return stripFlags + " " + fill.Replace(p.ldflags), nil
}

// requiredVersion finds "module version" among the requirements of a go.mod file.
func requiredVersion(goMod, module string) (string, bool) {
	for line := range strings.Lines(goMod) {
		fields := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require "))
		if len(fields) >= 2 && fields[0] == module && strings.HasPrefix(fields[1], "v") {
			return fields[1], true
		}
	}
	return "", false
}

// checkoutRoot walks up from the program's own folder, then from the working folder, to the checkout that holds the tool
// modules. Nested modules cannot be embedded into the binary, so they are found instead.
func checkoutRoot() (string, error) {
	var starts []string
	if exe, err := os.Executable(); err == nil {
		starts = append(starts, filepath.Dir(exe))
	}
	if cwd, err := os.Getwd(); err == nil {
		starts = append(starts, cwd)
	}
	for _, start := range starts {
		for dir := start; ; dir = filepath.Dir(dir) {
			if _, err := os.Stat(filepath.Join(toolsDir(dir), "kubernetes", "go.mod")); err == nil {
				return dir, nil
			}
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
	return "", fmt.Errorf("no e2e/cluster/tools above %s: run inside the checkout", strings.Join(starts, " or "))
}

func toolsDir(root string) string { return filepath.Join(root, "e2e", "cluster", "tools") }
