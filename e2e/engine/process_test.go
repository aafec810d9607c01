package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// asEngine makes the test's own program an engine, so that signals meet a real process.
const asEngine = "FAKE_ENGINE_OF_A_TEST"

func TestMain(m *testing.M) {
	if os.Getenv(asEngine) != "" {
		os.Exit(serve(os.Args))
	}
	os.Exit(m.Run())
}

// process is an engine that a test has started.
type process struct {
	*testing.T
	command *exec.Cmd
	url     string
	folder  string
	ended   chan struct{}
}

// start runs an engine by the command line of the real one; PORT in it is a free port.
func start(t *testing.T, argv string, environment ...string) *process {
	t.Helper()
	port := freePort(t)
	p := &process{T: t, url: "http://127.0.0.1:" + port, folder: t.TempDir(), ended: make(chan struct{})}
	p.command = exec.Command("/proc/self/exe")
	p.command.Args = strings.Fields(strings.ReplaceAll(argv, "PORT", port))
	p.command.Env = append(append(os.Environ(), asEngine+"=1", "FAKE_JOURNAL="+p.folder), environment...)
	p.command.Stderr = os.Stderr
	return p
}

func (p *process) run() *process {
	p.Helper()
	if err := p.command.Start(); err != nil {
		p.Fatal(err)
	}
	go func() {
		p.command.Wait()
		close(p.ended)
	}()
	p.Cleanup(func() {
		p.command.Process.Kill()
		<-p.ended
	})
	return p
}

func freePort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	return port
}

func (p *process) signal(which os.Signal) {
	p.Helper()
	if err := p.command.Process.Signal(which); err != nil {
		p.Error(err)
	}
}

// exitCode waits for the end; a signal's counts as in a shell.
func (p *process) exitCode() int {
	p.Helper()
	select {
	case <-p.ended:
	case <-time.After(30 * time.Second):
		p.Fatal("it does not end")
	}
	status := p.command.ProcessState.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}

func (p *process) lives() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// get is the status, 0 for no answer, and the body.
func (p *process) get(path string) (int, string) { return p.ask(http.MethodGet, path, "") }

func (p *process) ask(method, path, body string) (int, string) {
	p.Helper()
	request, err := http.NewRequest(method, p.url+path, strings.NewReader(body))
	if err != nil {
		p.Fatal(err)
	}
	client := http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	return response.StatusCode, string(text)
}

func (p *process) isRefused() bool {
	_, text := p.get("/health")
	return strings.Contains(text, "refused")
}

func (p *process) await(what string, done func() bool) {
	p.Helper()
	for deadline := time.Now().Add(20 * time.Second); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			p.Fatalf("waited in vain: %s", what)
		}
	}
}

func (p *process) awaitHealthy() *process {
	p.Helper()
	p.await("healthy", func() bool { status, _ := p.get("/health"); return status == http.StatusOK })
	return p
}

// awaitEvent waits for a line of the journal.
func (p *process) awaitEvent(part string) {
	p.Helper()
	p.await(part, func() bool {
		files, _ := filepath.Glob(filepath.Join(p.folder, "*"))
		for _, file := range files {
			if content, _ := os.ReadFile(file); strings.Contains(string(content), part) {
				return true
			}
		}
		return false
	})
}

// client streams in the background.
type client struct {
	*loader
	done chan struct{}
	what verdict
	err  error
}

func (p *process) stream(tokens int, silence time.Duration) *client {
	c := &client{loader: &loader{url: p.url, model: "m", tokens: tokens, silence: silence, client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}},
		done: make(chan struct{})}
	go func() {
		c.what, c.err = c.loader.stream()
		close(c.done)
	}()
	p.awaitEvent("begun")
	return c
}

func (c *client) verdict() (verdict, error) {
	<-c.done
	return c.what, c.err
}

func (p *process) expect(c *client, want verdict, because string) {
	p.Helper()
	got, err := c.verdict()
	if got != want || !strings.Contains(fmt.Sprint(err), because) {
		p.Errorf("the stream is %s, %v", got, err)
	}
}

func (p *process) tally() tally {
	p.Helper()
	var sums tally
	_, body := p.get("/counters")
	if err := json.Unmarshal([]byte(body), &sums); err != nil {
		p.Fatal(err, body)
	}
	return sums
}
