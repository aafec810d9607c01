package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"text/tabwriter"
)

// report is what `status` prints; the JSON form is for scripts.
type report struct {
	Name       string            `json:"name"`
	Up         bool              `json:"up"` // every component that belongs to the cluster works
	State      string            `json:"state"`
	Server     string            `json:"server"`
	Kubeconfig string            `json:"kubeconfig"`
	AuditLog   string            `json:"auditLog"`
	Bin        string            `json:"bin"`
	Kubectl    string            `json:"kubectl"`
	Components []componentReport `json:"components"`
}

type componentReport struct {
	Name    string         `json:"name"`
	State   string         `json:"state"` // healthy, unhealthy or stopped
	PID     int            `json:"pid,omitempty"`
	Ports   map[string]int `json:"ports"`
	Memory  int64          `json:"memoryBytes,omitempty"`
	LogFile string         `json:"log"`
}

// report asks every component how it is, all at once.
func (c *cluster) report(ctx context.Context) report {
	present := c.present()
	r := report{
		Name: c.Name, Up: true, State: c.state, Server: c.server(), Kubeconfig: c.kubeconfig(), AuditLog: c.auditLog(),
		Bin: c.Bin, Kubectl: filepath.Join(c.Bin, "kubectl"), Components: make([]componentReport, len(present)),
	}
	if _, err := c.httpClient(); err != nil { // made once, before it is shared
		r.Up = false
		return r
	}
	var asking sync.WaitGroup
	for index, each := range present {
		asking.Go(func() { r.Components[index] = c.reportComponent(ctx, each) })
	}
	asking.Wait()
	for _, each := range r.Components {
		r.Up = r.Up && each.State == "healthy"
	}
	return r
}

func (c *cluster) reportComponent(ctx context.Context, each component) componentReport {
	r := componentReport{Name: each.name, State: "stopped", Ports: map[string]int{}, LogFile: c.logFile(each.name)}
	for _, port := range each.ports {
		r.Ports[port] = c.Ports[port]
	}
	id, ok := c.running(each.name)
	if !ok {
		return r
	}
	r.PID, r.Memory, r.State = id.PID, residentMemory(id.PID), "unhealthy"
	if c.healthy(ctx, each) {
		r.State = "healthy"
	}
	return r
}

func (r report) printJSON(out io.Writer) error {
	content, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s\n", content)
	return err
}

func (r report) printText(out io.Writer) error {
	state := "up"
	if !r.Up {
		state = "not fully up"
	}
	fmt.Fprintf(out, "cluster %s is %s\nserver      %s\nkubeconfig  %s\naudit log   %s\nkubectl     %s\n\n",
		r.Name, state, r.Server, r.Kubeconfig, r.AuditLog, r.Kubectl)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "COMPONENT\tSTATE\tPID\tMEMORY\tLOG")
	for _, each := range r.Components {
		fmt.Fprintf(table, "%s\t%s\t%d\t%d MiB\t%s\n", each.Name, each.State, each.PID, each.Memory>>20, each.LogFile)
	}
	return table.Flush()
}
