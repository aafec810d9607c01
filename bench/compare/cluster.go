package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"inference-operator.dev/bench/sample"
)

// cluster is the control plane of the benchmark: its own, without nodes.
type cluster struct {
	program    string // localcluster
	name       string
	kubectl    string
	kubeconfig string // the administrator's
	auditLog   string
	apiserver  int // pid
	operator   string
	client     dynamic.Interface // the administrator's, without a rate limit
}

// upCluster starts it and installs what the operator needs; the contestants are all the operator's service account.
func upCluster(ctx context.Context, o options) (*cluster, error) {
	c := &cluster{program: o.localcluster, name: o.cluster}
	if err := c.local("up", "--nodes", "0", "--without", "kwok"); err != nil {
		return nil, err
	}
	if err := c.readStatus(); err != nil {
		return nil, err
	}
	config, err := clientcmd.BuildConfigFromFlags("", c.kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	if c.client, err = dynamic.NewForConfig(config); err != nil {
		return nil, err
	}
	if _, err := c.run(ctx, "apply", "--server-side", "-k", filepath.Join(o.root, "config", "cluster")); err != nil {
		return nil, err
	}
	if _, err := c.run(ctx, "wait", "--for=condition=Established", "--timeout=30s", "crd/inferencedeployments.inference-operator.dev",
		"crd/inferenceprofiles.inference-operator.dev"); err != nil {
		return nil, err
	}
	if _, err := c.run(ctx, "get", "namespace", sample.Namespace); err != nil {
		if _, err := c.run(ctx, "create", "namespace", sample.Namespace); err != nil {
			return nil, err
		}
	}
	c.operator = filepath.Join(o.out, "operator.kubeconfig")
	return c, c.writeOperatorConfig(ctx, config, filepath.Join(o.out, "token"))
}

func (c *cluster) readStatus() error {
	text, err := exec.Command(c.program, "status", "--name", c.name, "-o", "json").Output()
	if err != nil {
		return fmt.Errorf("status of cluster %s: %w", c.name, err)
	}
	var status struct {
		Kubeconfig, AuditLog, Kubectl string
		Components                    []struct {
			Name string
			PID  int
		}
	}
	if err := json.Unmarshal(text, &status); err != nil {
		return err
	}
	c.kubeconfig, c.auditLog, c.kubectl = status.Kubeconfig, status.AuditLog, status.Kubectl
	for _, each := range status.Components {
		if each.Name == "apiserver" {
			c.apiserver = each.PID
		}
	}
	return nil
}

func (c *cluster) writeOperatorConfig(ctx context.Context, config *rest.Config, tokenFile string) error {
	token, err := c.run(ctx, "create", "token", "inference-operator", "-n", "inference-system", "--duration", "24h")
	if err != nil {
		return err
	}
	if err := os.WriteFile(tokenFile, []byte(strings.TrimSpace(token)), 0o600); err != nil {
		return err
	}
	if err := rest.LoadTLSFiles(config); err != nil {
		return err
	}
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: bench, cluster: {server: %q, certificate-authority-data: %q}}]
users: [{name: operator, user: {tokenFile: %q}}]
contexts: [{name: bench, context: {cluster: bench, user: operator}}]
current-context: bench
`, config.Host, base64.StdEncoding.EncodeToString(config.CAData), tokenFile)
	return os.WriteFile(c.operator, []byte(text), 0o600)
}

// controllers starts or stops the controller manager: while the operator's work is timed it would only take from it what
// two cores have.
func (c *cluster) controllers(verb string) error { return c.local(verb, "controller-manager") }

func (c *cluster) down() error { return c.local("down") }

// local calls localcluster and shows what it says only when it fails.
func (c *cluster) local(verb string, arguments ...string) error {
	text, err := exec.Command(c.program, append([]string{verb, "--name", c.name}, arguments...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("localcluster %s: %w\n%s", verb, err, text)
	}
	return nil
}

// run calls kubectl as the administrator.
func (c *cluster) run(ctx context.Context, arguments ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, c.kubectl, append([]string{"--kubeconfig", c.kubeconfig}, arguments...)...)
	text, err := command.Output()
	if err != nil {
		var stderr []byte
		if exit, is := err.(*exec.ExitError); is {
			stderr = exit.Stderr
		}
		return "", fmt.Errorf("kubectl %s: %w: %s", strings.Join(arguments, " "), err, stderr)
	}
	return string(text), nil
}
