package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// nodeKit is the add-on with which a cluster has a real node: this machine's kubelet, containerd and runc.
const nodeKit = "node"

const (
	nodeName       = "node-0"
	nodeAddress    = "10.250.0.1"    // in the machine's own network: no two clusters see each other's
	podRange       = "10.245.0.0/24" // kwok gives its pods addresses of 10.244.0.0/16
	serviceAddress = "10.96.0.1"     // of kubernetes.default: the first of the API server's range
)

// apiserverNames are those by which pods and the node ask for the API server.
var apiserverNames = []string{nodeAddress, serviceAddress, "kubernetes", "kubernetes.default", "kubernetes.default.svc",
	"kubernetes.default.svc.cluster.local"}

func (c *cluster) hasNode() bool {
	_, ok := c.AddOns[nodeKit]
	return ok
}

// apiserverArgsForNode let pods and the kubelet reach it, and it the kubelet. All addresses are the machine's own.
func apiserverArgsForNode(c *cluster) []string {
	return []string{
		"--bind-address=0.0.0.0", "--advertise-address=" + nodeAddress,
		"--enable-admission-plugins=NodeRestriction",
		"--kubelet-preferred-address-types=InternalIP", "--kubelet-certificate-authority=" + c.pki("ca.crt"),
		"--kubelet-client-certificate=" + c.pki("kubelet-client.crt"), "--kubelet-client-key=" + c.pki("kubelet-client.key"),
	}
}

func containerdArgs(c *cluster) []string {
	return []string{"--config=" + c.path("conf", "containerd.toml")}
}

// containerdConfig: its folders are below /var and /run, which the machine has of its own.
const containerdConfig = `version = 2
[metrics]
  address = "127.0.0.1:%d"
[plugins."io.containerd.grpc.v1.cri"]
  # Else every pod fails where the capability CAP_SYS_RESOURCE is missing, as it often is in virtual machines.
  restrict_oom_score_adj = true
  sandbox_image = "%s"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = %s
    conf_dir = %s
`

// podNetwork joins pods by routes and not by a bridge: what goes to a Service and comes from a pod of the same bridge would
// come back past kube-proxy's translation.
const podNetwork = `{
  "cniVersion": "0.4.0",
  "name": "pods",
  "plugins": [{
    "type": "ptp",
    "ipMasq": false,
    "ipam": {"type": "host-local", "ranges": [[{"subnet": "` + podRange + `"}]], "routes": [{"dst": "0.0.0.0/0"}]}
  }]
}
`

func kubeletArgs(c *cluster) []string {
	labels := []string{}
	for label, value := range gpuLabels(c.GPUs) {
		labels = append(labels, label+"="+value)
	}
	return []string{
		"--config=" + c.path("conf", "kubelet.yaml"), "--kubeconfig=" + c.clientConfig("kubelet"),
		"--hostname-override=" + nodeName, "--node-ip=" + nodeAddress, "--node-labels=" + strings.Join(sorted(labels), ","),
	}
}

// kubeletConfig. A CPU is kept for all that is not exclusive, as the static policy wants it; only half of it is taken from
// what can be requested, so that small pods fit beside one with an exclusive CPU on a machine with two.
// Images can't be pulled again, so they are never removed, and the disk of the machine is not ours to judge.
const kubeletConfig = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: %[1]s/pki/ca.crt}}
authorization: {mode: Webhook}
tlsCertFile: %[1]s/pki/kubelet-server.crt
tlsPrivateKeyFile: %[1]s/pki/kubelet-server.key
healthzBindAddress: 127.0.0.1
healthzPort: %[2]d
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
cgroupDriver: cgroupfs
cgroupRoot: /%[3]s
failCgroupV1: false
failSwapOn: false
cgroupsPerQOS: true
enforceNodeAllocatable: []
systemReserved: {cpu: 500m}
cpuManagerPolicy: static
topologyManagerPolicy: single-numa-node
topologyManagerScope: pod
makeIPTablesUtilChains: false
clusterDNS: ["` + nodeAddress + `"]
clusterDomain: cluster.local
resolvConf: %[1]s/conf/resolv.conf
volumePluginDir: %[1]s/machine/volume-plugins
imageGCHighThresholdPercent: 100
evictionHard: {memory.available: 100Mi}
`

func kubeProxyArgs(c *cluster) []string {
	return []string{"--config=" + c.path("conf", "kube-proxy.yaml")}
}

const kubeProxyConfig = `apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: nftables
clusterCIDR: ` + podRange + `
clientConnection: {kubeconfig: %s}
hostnameOverride: ` + nodeName + `
healthzBindAddress: 127.0.0.1:%d
metricsBindAddress: 127.0.0.1:10249
conntrack: {maxPerCore: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
`

func corednsArgs(c *cluster) []string { return []string{"-conf=" + c.path("conf", "Corefile")} }

// corednsConfig knows Services and pods, and nothing beyond: there is no way out of the machine.
const corednsConfig = `.:53 {
  bind ` + nodeAddress + `
  errors
  ready 127.0.0.1:%d
  kubernetes cluster.local in-addr.arpa {
    kubeconfig %s local
    pods insecure
    ttl 1
  }
}
`

func devicePluginArgs(c *cluster) []string {
	return []string{fmt.Sprintf("--gpus=%d", c.GPUs), fmt.Sprintf("--health=127.0.0.1:%d", c.Ports["device-plugin"])}
}

// writeNodeConfiguration fills the state folder with what the node's components read.
func (c *cluster) writeNodeConfiguration() error {
	plugins, err := cniPlugins()
	if err != nil {
		return err
	}
	network := c.path("conf", "cni")
	if err := os.MkdirAll(network, 0o700); err != nil {
		return err
	}
	write := func(name, format string, values ...any) error {
		return os.WriteFile(c.path("conf", name), fmt.Appendf(nil, format, values...), 0o600)
	}
	return errors.Join(
		write("containerd.toml", containerdConfig, c.Ports["containerd"], sandboxImage, quote(plugins), quote(network)),
		write(filepath.Join("cni", "pods.conflist"), podNetwork),
		write("kubelet.yaml", kubeletConfig, c.state, c.Ports["kubelet"], cgroupName(c.state)),
		write("resolv.conf", ""),
		write("kube-proxy.yaml", kubeProxyConfig, quote(c.clientConfig("kube-proxy")), c.Ports["kube-proxy"]),
		write("Corefile", corednsConfig, c.Ports["coredns"], quote(c.clientConfig("coredns"))),
	)
}

// startNode starts what makes this machine a node, and returns before it is ready.
func (s *supervisor) startNode(ctx context.Context) error {
	runtime, err := findComponent("containerd")
	if err != nil {
		return err
	}
	err = s.say.step("containerd ready, image "+sandboxImage+" loaded", func() error {
		if err := s.launch(runtime); err != nil {
			return err
		}
		if err := s.awaitHealthy(ctx, runtime); err != nil {
			return err
		}
		return s.c.loadSandboxImage(ctx)
	})
	if err != nil {
		return err
	}
	for _, each := range components {
		if each.kit == nodeKit && !slices.Contains([]string{runtime.name, machineName}, each.name) {
			if err := s.launch(each); err != nil {
				return err
			}
		}
	}
	return s.awaitGPUs(ctx)
}

// awaitGPUs returns once the node can give out its GPUs.
func (s *supervisor) awaitGPUs(ctx context.Context) error {
	return s.say.step(nodeName+" has its GPUs", func() error {
		return s.await(ctx, nodeName+" has its GPUs", func() (bool, error) {
			var live struct {
				Status struct{ Allocatable map[string]string }
			}
			err := s.c.get(ctx, "/api/v1/nodes/"+nodeName, &live)
			return live.Status.Allocatable["nvidia.com/gpu"] == fmt.Sprint(s.c.GPUs), err
		})
	})
}

// startMachine makes the place in which everything else runs.
func (s *supervisor) startMachine(ctx context.Context) error {
	machine, err := findComponent(machineName)
	if err != nil {
		return err
	}
	return s.say.step("machine with a network of its own", func() error {
		if err := createCgroup(cgroupName(s.c.state)); err != nil {
			return err
		}
		err := s.launch(machine)
		s.releasePorts() // they are the machine's now
		if err != nil {
			return err
		}
		return s.awaitHealthy(ctx, machine)
	})
}
