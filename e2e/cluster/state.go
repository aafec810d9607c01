package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// cluster is one local control plane. Its record is saved in the state folder, so that later commands start components
// with the same ports, data and programs.
type cluster struct {
	state  string // folder; absolute
	client *http.Client

	Name string `json:"name"`
	Bin  string `json:"bin"` // folder of the programs
	// AddOns has the folder of the programs of each add-on.
	AddOns         map[string]string `json:"addOns"`
	Ports          map[string]int    `json:"ports"`
	Without        []string          `json:"without"`  // components that were left out
	Nodes          int               `json:"nodes"`    // at `up`
	NextNode       int               `json:"nextNode"` // a name is never given twice: pods of a removed node linger
	GPUs           int               `json:"gpus"`     // per node
	FeatureGates   string            `json:"featureGates"`
	SchedulerGates string            `json:"schedulerGates"`
	Token          string            `json:"-"` // the administrator's; only in files of mode 0600 below the state folder
}

func (c *cluster) path(parts ...string) string {
	return filepath.Join(append([]string{c.state}, parts...)...)
}
func (c *cluster) pki(file string) string       { return c.path("pki", file) }
func (c *cluster) kubeconfig() string           { return c.path("kubeconfig") }
func (c *cluster) auditLog() string             { return c.path("audit.log") }
func (c *cluster) pidFile(name string) string   { return c.path("run", name+".pid") }
func (c *cluster) logFile(name string) string   { return c.path("logs", name+".log") }
func (c *cluster) server() string               { return fmt.Sprintf("https://127.0.0.1:%d", c.Ports["apiserver"]) }
func (c *cluster) clientConfig(n string) string { return c.path("conf", n+".kubeconfig") }

const recordFile = "cluster.json"

func (c *cluster) save() error {
	content, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	return writeFileAtomically(c.path(recordFile), append(content, '\n'), 0o600)
}

// loadCluster reads the record of a state folder; fs.ErrNotExist when there is no cluster.
func loadCluster(state string) (*cluster, error) {
	c := &cluster{state: state}
	content, err := os.ReadFile(c.path(recordFile))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(content, c); err != nil {
		return nil, fmt.Errorf("%s: %w", c.path(recordFile), err)
	}
	token, err := os.ReadFile(c.pki("token"))
	if err != nil {
		return nil, err
	}
	c.Token = string(token)
	return c, nil
}

// requireCluster is loadCluster for commands that make no sense without one.
func requireCluster(state string) (*cluster, error) {
	c, err := loadCluster(state)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("no cluster in %s: start it with `up`", state)
	}
	return c, err
}

// running returns the live process of a component, by its pid file.
func (c *cluster) running(name string) (identity, bool) {
	id, err := readIdentity(c.pidFile(name))
	if err != nil || !id.alive() {
		return identity{}, false
	}
	return id, true
}

// lockPath is beside the state folder and not in it: `down` removes the folder, and a lock on a removed file locks
// nobody out.
func lockPath(state string) string {
	return filepath.Join(filepath.Dir(state), "."+filepath.Base(state)+".lock")
}

// lockState keeps two commands from changing one cluster at once: the second waits, since the first may be the rest of
// a run that was killed.
func lockState(ctx context.Context, state string, limit time.Duration, say *progress) (*fileLock, error) {
	if err := os.MkdirAll(filepath.Dir(state), 0o755); err != nil {
		return nil, err
	}
	other := ""
	lock, err := waitForLock(ctx, lockPath(state), limit, func(holder string) {
		other = holder
		say.note("another command is working on %s (%s), waiting for it", state, holder)
	})
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, fmt.Errorf("another command is working on %s (%s) and did not end in %s", state, other, limit)
	}
	return lock, err
}
