package main

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// component is one process of the cluster.
type component struct {
	name   string   // in commands, logs and pid files
	kit    string   // the add-on that it is a part of; empty: what every cluster has
	binary string   // in the cache folder
	ports  []string // keys of cluster.Ports; the first one answers health
	health string   // URL path that answers 200 once the component works
	args   func(c *cluster) []string
}

// components in the order of their start. They stop in reverse: an apiserver whose etcd is gone hangs for a minute.
var components = []component{
	{"etcd", "", "etcd", []string{"etcd-health", "etcd", "etcd-peer"}, "/health", etcdArgs},
	{"apiserver", "", "kube-apiserver", []string{"apiserver"}, "/readyz", apiserverArgs},
	{"controller-manager", "", "kube-controller-manager", []string{"controller-manager"}, "/healthz", controllerManagerArgs},
	{"scheduler", "", "kube-scheduler", []string{"scheduler"}, "/readyz", schedulerArgs},
	{"kwok", "", "kwok", []string{"kwok"}, "/healthz", kwokArgs},
	{"lws", "", "lws", []string{"lws", "lws-webhook"}, "/readyz", lwsArgs},
	{"kueue", "kueue", "kueue", []string{"kueue", "kueue-webhook"}, "/readyz", kueueArgs},
	{"containerd", nodeKit, "containerd", []string{"containerd"}, "/v1/metrics", containerdArgs},
	{"kubelet", nodeKit, "kubelet", []string{"kubelet"}, "/healthz", kubeletArgs},
	{"kube-proxy", nodeKit, "kube-proxy", []string{"kube-proxy"}, "/healthz", kubeProxyArgs},
	{"coredns", nodeKit, "coredns", []string{"coredns"}, "/ready", corednsArgs},
	{"device-plugin", nodeKit, "device-plugin", []string{"device-plugin"}, "/healthz", devicePluginArgs},
	{machineName, nodeKit, "machine", []string{machineName}, "/healthz", machineArgs},
}

// optionalComponents may be named by --without.
var optionalComponents = []string{"lws", "kwok"}

// findComponent knows a component by its name or by the name of its binary.
func findComponent(name string) (component, error) {
	var names []string
	for _, each := range components {
		if each.name == name || each.binary == name {
			return each, nil
		}
		names = append(names, each.name)
	}
	return component{}, misuse("no component %q: one of %s", name, strings.Join(names, ", "))
}

// present lists the components that this cluster is to have.
func (c *cluster) present() []component {
	return slices.DeleteFunc(slices.Clone(components), func(each component) bool {
		return !c.has(each)
	})
}

// has says whether this cluster is to have the component.
func (c *cluster) has(each component) bool {
	if each.kit != "" {
		_, added := c.AddOns[each.kit]
		return added
	}
	return !slices.Contains(c.Without, each.name)
}

// program is the file of the component's program.
func (c *cluster) program(each component) string {
	switch {
	case each.name == machineName:
		return "/proc/self/exe"
	case each.binary == "containerd": // the distribution's
		return systemProgram(each.binary)
	case each.kit != "":
		return filepath.Join(c.AddOns[each.kit], each.binary)
	}
	return filepath.Join(c.Bin, each.binary)
}

func (c *cluster) url(port, path string) string {
	scheme := "http" // how most tell health and metrics
	if port == "apiserver" || port == "controller-manager" || port == "scheduler" {
		scheme = "https"
	}
	return fmt.Sprintf("%s://127.0.0.1:%d%s", scheme, c.Ports[port], path)
}

// nativeGangs says whether Kubernetes' own gang scheduling is on: it is in the gate GenericWorkload (beta and off in 1.37).
func (c *cluster) nativeGangs() bool {
	return !strings.Contains(c.FeatureGates, "GenericWorkload=false")
}

// gates of the three Kubernetes components. All have the same, unless a test wants a scheduler that places a gang pod by pod.
func (c *cluster) gates() string {
	gates := []string{}
	if c.nativeGangs() && !strings.Contains(c.FeatureGates, "GenericWorkload=") {
		gates = append(gates, "GenericWorkload=true")
	}
	if c.FeatureGates != "" {
		gates = append(gates, c.FeatureGates)
	}
	return "--feature-gates=" + strings.Join(gates, ",")
}

func etcdArgs(c *cluster) []string {
	client := fmt.Sprintf("https://127.0.0.1:%d", c.Ports["etcd"])
	peer := fmt.Sprintf("https://127.0.0.1:%d", c.Ports["etcd-peer"])
	return []string{
		"--data-dir=" + c.path("data", "etcd"),
		"--unsafe-no-fsync", // the data need not survive the machine, only the process
		"--listen-client-urls=" + client, "--advertise-client-urls=" + client,
		fmt.Sprintf("--listen-metrics-urls=http://127.0.0.1:%d", c.Ports["etcd-health"]), // the client port wants a certificate
		"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer, "--initial-cluster=default=" + peer,
		"--cert-file=" + c.pki("etcd.crt"), "--key-file=" + c.pki("etcd.key"),
		"--client-cert-auth", "--trusted-ca-file=" + c.pki("ca.crt"),
		"--peer-cert-file=" + c.pki("etcd.crt"), "--peer-key-file=" + c.pki("etcd.key"),
		"--peer-client-cert-auth", "--peer-trusted-ca-file=" + c.pki("ca.crt"),
		// A single member waits for nobody: with the default of 1 s the election is most of the start.
		"--heartbeat-interval=50", "--election-timeout=250",
		"--log-level=warn",
	}
}

func apiserverArgs(c *cluster) []string {
	args := []string{
		fmt.Sprintf("--etcd-servers=https://127.0.0.1:%d", c.Ports["etcd"]),
		"--etcd-cafile=" + c.pki("ca.crt"), "--etcd-certfile=" + c.pki("apiserver.crt"), "--etcd-keyfile=" + c.pki("apiserver.key"),
		fmt.Sprintf("--secure-port=%d", c.Ports["apiserver"]),
		"--tls-cert-file=" + c.pki("apiserver.crt"), "--tls-private-key-file=" + c.pki("apiserver.key"),
		// Who asks for it by name gets a certificate of its own, which a test may replace; the components ask by address.
		"--tls-sni-cert-key=" + c.pki("localhost.crt") + "," + c.pki("localhost.key") + ":localhost",
		"--client-ca-file=" + c.pki("ca.crt"), "--token-auth-file=" + c.pki("tokens.csv"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + c.pki("serviceaccounts.pub"),
		"--service-account-signing-key-file=" + c.pki("serviceaccounts.key"),
		"--authorization-mode=Node,RBAC",
		"--service-cluster-ip-range=10.96.0.0/16",
		"--allow-privileged=true",
		// Else a stop waits a whole minute for the watches of the components that go on running.
		"--shutdown-watch-termination-grace-period=2s",
		// Blocking: a write is in the log before its answer leaves, so a test that counts writes needs no waiting.
		"--audit-policy-file=" + c.path("conf", "audit-policy.yaml"), "--audit-log-path=" + c.auditLog(),
		"--audit-log-mode=blocking", "--audit-log-format=json", "--audit-log-maxsize=1024",
		c.gates(),
	}
	if c.nativeGangs() { // beta API groups are off by default, whatever the gate says
		args = append(args, "--runtime-config=scheduling.k8s.io/v1beta1=true")
	}
	if c.hasNode() {
		return append(args, apiserverArgsForNode(c)...)
	}
	return append(args, "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
		"--endpoint-reconciler-type=none") // Endpoints may not hold a loopback address, and no pod here would use them
}

// kubeClientArgs are common to controller-manager and scheduler. The raised client rates are for tests: with the
// defaults (20 and 50 a second) they are what a test with many pods waits for.
func kubeClientArgs(c *cluster, name string) []string {
	config := c.clientConfig(name)
	return []string{
		"--kubeconfig=" + config, "--authentication-kubeconfig=" + config, "--authorization-kubeconfig=" + config,
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", c.Ports[name]),
		"--tls-cert-file=" + c.pki(name+".crt"), "--tls-private-key-file=" + c.pki(name+".key"),
		"--leader-elect=false", "--kube-api-qps=300", "--kube-api-burst=600",
		c.gates(),
	}
}

func controllerManagerArgs(c *cluster) []string {
	return append(kubeClientArgs(c, "controller-manager"),
		"--use-service-account-credentials=true",
		"--service-account-private-key-file="+c.pki("serviceaccounts.key"),
		"--root-ca-file="+c.pki("ca.crt"))
}

func schedulerArgs(c *cluster) []string {
	args := kubeClientArgs(c, "scheduler")
	if c.SchedulerGates != "" { // of gates that are given twice the last holds
		args = append(args, "--feature-gates="+c.SchedulerGates)
	}
	return args
}

func kwokArgs(c *cluster) []string {
	return []string{
		"--config=" + c.path("conf", "kwok-stages.yaml"), "--kubeconfig=" + c.clientConfig("kwok"),
		"--manage-nodes-with-annotation-selector=" + fakeNodeAnnotation + "=fake", // a real kubelet can join the cluster
		"--node-lease-duration-seconds=40", "--cidr=10.244.0.0/16", "--node-ip=127.0.0.1",
		// Without an address it would listen on all of them.
		fmt.Sprintf("--server-address=127.0.0.1:%d", c.Ports["kwok"]),
	}
}

func lwsArgs(c *cluster) []string {
	return []string{"--config=" + c.path("conf", "lws.yaml"), "--kubeconfig=" + c.clientConfig("lws"), "--zap-log-level=2"}
}

func kueueArgs(c *cluster) []string {
	return []string{"--config=" + c.path("conf", "kueue.yaml"), "--kubeconfig=" + c.clientConfig("kueue"), "--zap-log-level=2"}
}

// healthy asks a component's own health path once.
func (c *cluster) healthy(ctx context.Context, each component) bool {
	client, err := c.httpClient()
	if err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url(each.ports[0], each.health), nil)
	if err != nil {
		return false
	}
	response, err := client.Do(request)
	if err != nil {
		return false
	}
	response.Body.Close()
	return response.StatusCode == http.StatusOK
}
