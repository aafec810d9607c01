package main

import (
	_ "embed" // for the stage below
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// auditPolicy logs each finished write of the operator, one JSON line each, and nothing else. The policy cannot match a
// user by prefix; every service account is in the group of its namespace.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted, Panic]
rules:
- level: Metadata
  userGroups: ["system:serviceaccounts:inference-system"]
  verbs: [create, update, patch, delete, deletecollection]
- level: None
`

// lwsConfig lets the LWS manager run outside the cluster, with the certificate that the cluster's authority made for it.
const lwsConfig = `apiVersion: config.lws.x-k8s.io/v1alpha1
kind: Configuration
leaderElection: {leaderElect: false}
internalCertManagement: {enable: false}
metrics: {bindAddress: "0"}
health: {healthProbeBindAddress: "127.0.0.1:%d"}
webhook: {host: 127.0.0.1, port: %d, certDir: %s}
`

// imageErrorStage comes after kwok's own stages.
//
//go:embed image-error-stage.yaml
var imageErrorStage string

//go:embed engine-end-stages.yaml
var engineEndStages string

// clients are the users of the control plane. RBAC has roles for those without a group and for nodes, the others are no
// part of Kubernetes.
var clients = []struct{ name, user, group string }{
	{"controller-manager", "system:kube-controller-manager", ""},
	{"scheduler", "system:kube-scheduler", ""},
	{"kwok", "kwok", "system:masters"},
	{"lws", "lws-controller-manager", "system:masters"},
	{"kueue", "kueue-controller-manager", "system:masters"},
	{"kubelet", "system:node:" + nodeName, "system:nodes"},
	{"kube-proxy", "system:kube-proxy", ""},
	{"coredns", "coredns", "system:masters"},
}

// writeConfiguration fills the state folder with all that the components read: keys, kubeconfigs, policies.
func (c *cluster) writeConfiguration() error {
	for _, dir := range []string{"pki", "conf", "data", "logs", "run"} {
		if err := os.MkdirAll(c.path(dir), 0o700); err != nil {
			return err
		}
	}
	if err := c.writeKeys(); err != nil {
		return err
	}
	stages, err := os.ReadFile(filepath.Join(c.Bin, "share", "kwok-stages.yaml"))
	if err != nil {
		return err
	}
	lws := fmt.Sprintf(lwsConfig, c.Ports["lws"], c.Ports["lws-webhook"], quote(c.path("conf", "lws-certs")))
	kueue := fmt.Sprintf(kueueConfig, c.Ports["kueue"], c.Ports["kueue-webhook"], quote(c.path(kueueCerts)))
	if c.hasNode() {
		if err := c.writeNodeConfiguration(); err != nil {
			return err
		}
	}
	return errors.Join(
		os.WriteFile(c.path("conf", "kueue.yaml"), []byte(kueue), 0o600),
		os.WriteFile(c.path("conf", "audit-policy.yaml"), []byte(auditPolicy), 0o600),
		os.WriteFile(c.path("conf", "kwok-stages.yaml"), append(stages, "---\n"+imageErrorStage+"---\n"+engineEndStages...), 0o600),
		os.WriteFile(c.path("conf", "lws.yaml"), []byte(lws), 0o600),
		os.WriteFile(c.auditLog(), nil, 0o600), // there before the first write, for who follows it
	)
}

func (c *cluster) writeKeys() error {
	ca, err := newAuthority(c.path("pki"))
	if err != nil {
		return err
	}
	if err := newSigningKey(c.path("pki"), "serviceaccounts"); err != nil {
		return err
	}
	if err := errors.Join(ca.issue("etcd", "etcd", ""), ca.issue("apiserver", "kube-apiserver", "", apiserverNames...),
		ca.issue("localhost", "kube-apiserver", ""),
		ca.issue("kubelet-client", "kube-apiserver-kubelet-client", "system:masters"),
		ca.issue("kubelet-server", "system:node:"+nodeName, "system:nodes", nodeName, nodeAddress)); err != nil {
		return err
	}
	for _, each := range clients {
		if err := ca.issue(each.name, each.user, each.group); err != nil {
			return err
		}
		if err := writeClientKubeconfig(c.path("pki"), each.name, c.server(), c.clientConfig(each.name)); err != nil {
			return err
		}
	}
	// Webhook servers want the names tls.crt and tls.key in a folder of their own.
	for name, certs := range map[string]string{"lws": c.path("conf", "lws-certs"), "kueue": c.path(kueueCerts)} {
		if err := errors.Join(os.MkdirAll(certs, 0o700),
			os.Symlink(c.pki(name+".crt"), filepath.Join(certs, "tls.crt")),
			os.Symlink(c.pki(name+".key"), filepath.Join(certs, "tls.key"))); err != nil {
			return err
		}
	}
	return c.writeAdministrator()
}

// writeAdministrator makes the kubeconfig for people and tests. It carries a token and no certificate: the simplest
// client can use that.
func (c *cluster) writeAdministrator() error {
	c.Token = randomToken()
	authority, err := os.ReadFile(c.pki("ca.crt"))
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(c.pki("token"), []byte(c.Token), 0o600),
		os.WriteFile(c.pki("tokens.csv"), []byte(c.Token+",admin,admin,system:masters\n"), 0o600),
		os.WriteFile(c.kubeconfig(), []byte(kubeconfig(c.server(), authority, "    token: "+c.Token)), 0o600),
	)
}

// quote makes a YAML string of any path: JSON strings are YAML.
func quote(text string) string {
	quoted, _ := json.Marshal(text) // cannot fail for a string
	return string(quoted)
}
