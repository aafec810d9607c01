package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// contestant is a program that is measured.
type contestant struct {
	name    string
	command func(health, metrics string) []string
	serves  bool   // has /readyz and /metrics, and runs until it is stopped
	prefix  string // of its reconcile_total
	oneport bool   // serves metrics where it serves health
}

func operatorContestant(o options, c *cluster) contestant {
	return contestant{name: "operator", serves: true, oneport: true, command: func(health, _ string) []string {
		return []string{o.operator, "--kubeconfig", c.operator, "--health-address", health, "--workers", strconv.Itoa(o.workers),
			"--leader-elect=false"} // the peer has none either
	}}
}

func peerContestant(o options, c *cluster, sample string) contestant {
	return contestant{name: "peer", serves: true, prefix: "controller_runtime_", command: func(health, metrics string) []string {
		return []string{o.peer, "--kube-config", c.operator, "--health-address", health, "--metrics-address", metrics,
			"--workers", strconv.Itoa(o.workers), "--sample", sample}
	}}
}

func rawContestant(o options, c *cluster, sample string, more ...string) contestant {
	return contestant{name: strings.Join(append([]string{"raw"}, more...), " "), command: func(_, _ string) []string {
		return append([]string{o.raw, "--kubeconfig", c.operator, "--workers", strconv.Itoa(o.workers), "--sample", sample}, more...)
	}}
}

// process is a contestant that runs.
type process struct {
	contestant
	command         *exec.Cmd
	started         time.Time
	health, metrics string
	ended           chan struct{}
	failure         error // after ended is closed
	cpuAtEnd        time.Duration
}

// start runs a contestant; its output goes to a log in `folder`.
func start(ctx context.Context, c contestant, folder string) (*process, error) {
	p := &process{contestant: c, ended: make(chan struct{})}
	if c.serves {
		var err error
		if p.health, err = freeAddress(); err != nil {
			return nil, err
		}
		if p.metrics = p.health; !c.oneport {
			if p.metrics, err = freeAddress(); err != nil {
				return nil, err
			}
		}
	}
	words := c.command(p.health, p.metrics)
	log, err := os.Create(filepath.Join(folder, strings.Fields(c.name)[0]+".log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	p.command = exec.CommandContext(ctx, words[0], words[1:]...)
	p.command.Stdout, p.command.Stderr = log, log
	p.started = time.Now()
	if err := p.command.Start(); err != nil {
		return nil, err
	}
	go func() {
		p.failure = p.command.Wait()
		state := p.command.ProcessState
		p.cpuAtEnd = state.UserTime() + state.SystemTime()
		close(p.ended)
	}()
	return p, nil
}

func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer listener.Close()
	return listener.Addr().String(), nil
}

// alive is nil while the process runs, and after one that is to end has done so well.
func (p *process) alive() error {
	select {
	case <-p.ended:
		if p.failure == nil && !p.serves {
			return nil
		}
		return fmt.Errorf("%s ended by itself (%v), see its log", p.name, p.failure)
	default:
		return nil
	}
}

// stop asks it to end and waits; one that does not is killed.
func (p *process) stop() {
	p.command.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(20 * time.Second):
		p.command.Process.Kill()
		<-p.ended
	}
}

// cpu is the time that it has computed, in user mode and in the kernel.
func (p *process) cpu() (time.Duration, error) {
	select {
	case <-p.ended:
		return p.cpuAtEnd, nil
	default:
		return cpuOf(p.command.Process.Pid)
	}
}

func cpuOf(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	user, err := strconv.ParseInt(fields[11], 10, 64) // utime is field 14 of proc(5), and these begin with field 3
	system, err2 := strconv.ParseInt(fields[12], 10, 64)
	const tick = 10 * time.Millisecond // USER_HZ is 100 on every Linux
	return time.Duration(user+system) * tick, errors.Join(err, err2)
}

// memory is a line of /proc/PID/status in MB: VmRSS (now) or VmHWM (the most so far).
func (p *process) memory(line string) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.command.Process.Pid))
	if err != nil {
		return 0, err
	}
	for each := range strings.Lines(string(text)) {
		if rest, found := strings.CutPrefix(each, line+":"); found {
			kib, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return kib * 1024 / 1e6, err
		}
	}
	return 0, fmt.Errorf("no %s", line)
}

// awaitReady waits for /readyz and returns the time since the start.
func (p *process) awaitReady(ctx context.Context) (time.Duration, error) {
	client := http.Client{Timeout: time.Second}
	for {
		response, err := client.Get("http://" + p.health + "/readyz")
		if err == nil {
			response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return time.Since(p.started), nil
			}
		}
		if err := p.alive(); err != nil {
			return 0, err
		}
		if err := pause(ctx, 2*time.Millisecond); err != nil {
			return 0, err
		}
	}
}

// sums adds up the series of each metric.
func (p *process) sums(ctx context.Context) (map[string]float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.metrics+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	sums := map[string]float64{}
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		line := lines.Text()
		space := strings.LastIndexByte(line, ' ')
		if space < 0 || line[0] == '#' {
			continue
		}
		name, labels, _ := strings.Cut(line[:space], "{")
		value, err := strconv.ParseFloat(line[space+1:], 64)
		if err != nil {
			continue
		}
		sums[name] += value
		if name == "rest_client_requests_total" {
			sums[name+" "+methodOf(labels)] += value
		}
	}
	return sums, lines.Err()
}

// methodOf a series: the operator tells Kubernetes' verbs, client-go HTTP's.
func methodOf(labels string) string {
	for label := range strings.SplitSeq(strings.TrimSuffix(labels, "}"), ",") {
		name, value, _ := strings.Cut(label, "=")
		if name != "verb" && name != "method" {
			continue
		}
		switch value = strings.ToUpper(strings.Trim(value, `"`)); value {
		case "LIST", "WATCH":
			return "GET"
		case "CREATE":
			return "POST"
		default:
			return value
		}
	}
	return ""
}

// awaitIdle waits until every one of `count` models was reconciled since the start and none waits.
func (p *process) awaitIdle(ctx context.Context, count int) (time.Duration, error) {
	for {
		sums, err := p.sums(ctx)
		if err == nil && sums[p.prefix+"reconcile_total"] >= float64(count) && sums["workqueue_depth"] == 0 {
			return time.Since(p.started), nil
		}
		if err := p.alive(); err != nil {
			return 0, err
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return 0, err
		}
	}
}
