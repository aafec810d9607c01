package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

const vllmServe = "vllm serve --model /models/tiny --served-model-name m --port PORT --tensor-parallel-size 8 --no-enable-prefix-caching" +
	" --gpu-memory-utilization 0.90 --enable-server-load-tracking"

func TestVLLMIsRefusedWhileItLoadsAndThenAnswersAsVLLM(t *testing.T) {
	p := start(t, vllmServe, "FAKE_LOAD=300ms").run()
	if !p.isRefused() {
		t.Error("it is served while it loads")
	}
	p.awaitHealthy()
	for path, want := range map[string]string{
		"/load": `{"server_load":0}`, "/version": `{"version":"0.32.0"}`, "/drain": `{"detail":"Not Found"}`,
		"/health/ready": `{"detail":"Not Found"}`,
	} {
		if _, body := p.get(path); strings.TrimSpace(body) != want {
			t.Errorf("%s: %s", path, body)
		}
	}
	if status, _ := p.ask(http.MethodPost, "/health", ""); status != http.StatusMethodNotAllowed {
		t.Errorf("POST /health: %d", status)
	}
	if _, body := p.get("/v1/models"); !strings.Contains(body, `"id":"m"`) || !strings.Contains(body, `"root":"/models/tiny"`) {
		t.Errorf("models: %s", body)
	}
	if status, body := p.ask(http.MethodPost, "/v1/completions", `{"model":"x"}`); status != http.StatusNotFound || !strings.Contains(body, "does not exist") {
		t.Errorf("another model: %d %s", status, body)
	}
}

func TestStreamsAndWholeAnswersHaveAllTokens(t *testing.T) {
	p := start(t, vllmServe, "FAKE_STEP=1ms").run().awaitHealthy()
	p.expect(p.stream(50, time.Minute), wholeStream, "")
	status, body := p.ask(http.MethodPost, "/v1/completions", `{"model":"m","prompt":"x","max_tokens":3}`)
	if status != http.StatusOK || !strings.Contains(body, `" token token token"`) || !strings.Contains(body, `"finish_reason":"length"`) {
		t.Errorf("completion: %d %s", status, body)
	}
	_, body = p.ask(http.MethodPost, "/v1/chat/completions", `{"messages":[{"role":"user","content":"x"}],"max_tokens":2,"stream":true}`)
	if strings.Count(body, `"content":" token"`) != 2 || !strings.HasSuffix(body, "data: [DONE]\n\n") {
		t.Errorf("chat: %s", body)
	}
	if got := p.tally(); got != (tally{Begun: 3, Finished: 3}) {
		t.Errorf("counters %+v", got)
	}
}

func TestEachEngineHasSeriesOfItsOwn(t *testing.T) {
	p := start(t, vllmServe+" --data-parallel-size 2").run().awaitHealthy()
	_, body := p.get("/metrics")
	for _, line := range []string{`vllm:num_requests_running{engine="0",model_name="m"} 0.0`, `vllm:num_requests_running{engine="1",model_name="m"} 0.0`,
		`vllm:num_requests_waiting_by_reason{engine="1",model_name="m",reason="capacity"} 0.0`} {
		if !strings.Contains(body, line+"\n") {
			t.Errorf("%s is not in\n%s", line, body)
		}
	}
	p.stream(100000, time.Minute)
	p.stream(100000, time.Minute)
	p.await("both engines are busy", func() bool {
		_, body := p.get("/metrics")
		return strings.Contains(body, `running{engine="0",model_name="m"} 1.0`) && strings.Contains(body, `running{engine="1",model_name="m"} 1.0`)
	})
}

func TestGaugesReadZeroDuringTheStepThatTakesARequestIn(t *testing.T) {
	p := start(t, vllmServe, "FAKE_PREFILL=150ms").run().awaitHealthy() // some 9 bytes: more than a second
	c := p.stream(5, time.Minute)
	if _, load := p.get("/load"); !strings.Contains(load, `:1}`) {
		t.Errorf("load %s", load)
	}
	if _, metrics := p.get("/metrics"); !strings.Contains(metrics, `running{engine="0",model_name="m"} 0.0`) {
		t.Errorf("metrics %s", metrics)
	}
	p.await("the gauge", func() bool {
		_, metrics := p.get("/metrics")
		return strings.Contains(metrics, `running{engine="0",model_name="m"} 1.0`)
	})
	p.expect(c, wholeStream, "")
	p.await("idle", func() bool {
		_, metrics := p.get("/metrics")
		return strings.Contains(metrics, `running{engine="0",model_name="m"} 0.0`)
	})
}

func TestWhatHasNoSeatWaits(t *testing.T) {
	p := start(t, vllmServe+" --max-num-seqs 1").run().awaitHealthy()
	for range 3 {
		p.stream(100000, time.Minute)
	}
	p.await("one runs, two wait", func() bool {
		_, body := p.get("/metrics")
		return strings.Contains(body, `running{engine="0",model_name="m"} 1.0`) && strings.Contains(body, `waiting{engine="0",model_name="m"} 2.0`)
	})
}

func TestSeriesAreMissingWhereTheRealOnesAre(t *testing.T) {
	if _, body := start(t, vllmServe+" --disable-log-stats").run().awaitHealthy().get("/metrics"); body != "" {
		t.Errorf("without statistics: %s", body)
	}
	p := start(t, vllmServe+" --api-server-count 2", "FAKE_STEP=1ms").run().awaitHealthy()
	if _, body := p.get("/metrics"); body != "" {
		t.Errorf("before the first request: %s", body)
	}
	p.expect(p.stream(1, time.Minute), wholeStream, "")
	if _, body := p.get("/metrics"); !strings.Contains(body, "vllm:num_requests_running{") {
		t.Errorf("after it: %s", body)
	}
	untracked := start(t, "vllm serve m --port PORT").run().awaitHealthy()
	untracked.stream(100000, time.Minute)
	if _, body := untracked.get("/load"); strings.TrimSpace(body) != `{"server_load":0}` {
		t.Errorf("without tracking: %s", body)
	}
}

func TestSIGTERMWithRequestsInFlightHangsUntilTheClientsLeave(t *testing.T) {
	p := start(t, vllmServe).run().awaitHealthy()
	c := p.stream(100000, 2*time.Second)
	p.signal(syscall.SIGTERM)
	p.await("refused", p.isRefused)
	p.signal(syscall.SIGTERM)
	p.signal(os.Interrupt)
	time.Sleep(500 * time.Millisecond)
	if !p.lives() {
		t.Fatal("it has ended while its client was there")
	}
	p.expect(c, truncated, "no byte any more")
	if code := p.exitCode(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	p.awaitEvent(" cut ")
}

func TestACutStreamLooksComplete(t *testing.T) {
	for how, says := range map[string]string{"error": "EngineCore encountered an issue", "abort": `finish_reason "abort", last line "data: [DONE]"`} {
		p := start(t, vllmServe, "FAKE_SIGTERM_IN_FLIGHT="+how).run().awaitHealthy()
		c := p.stream(100000, time.Minute)
		p.signal(syscall.SIGTERM)
		p.expect(c, truncated, says)
		if code := p.exitCode(); code != 0 {
			t.Errorf("exit code %d", code)
		}
	}
}

func TestADrainFinishesWhatIsInFlightAndRefusesTheRest(t *testing.T) {
	p := start(t, vllmServe+" --shutdown-timeout 60", "FAKE_TEARDOWN=300ms").run().awaitHealthy()
	c := p.stream(60, time.Minute)
	p.signal(syscall.SIGTERM)
	p.awaitEvent("signal terminated, with 1 in flight")
	p.await("new requests are refused", func() bool {
		status, _ := p.ask(http.MethodPost, "/v1/completions", `{"model":"m"}`)
		return status == http.StatusInternalServerError
	})
	if status, _ := p.get("/health"); status != http.StatusOK {
		t.Errorf("health %d", status)
	}
	p.expect(c, wholeStream, "")
	if code := p.exitCode(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestADrainThatTakesTooLongHangs(t *testing.T) {
	p := start(t, vllmServe+" --shutdown-timeout 1").run().awaitHealthy()
	c := p.stream(100000, 2*time.Second)
	p.signal(syscall.SIGTERM)
	p.expect(c, truncated, "no byte any more")
	if code := p.exitCode(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestTheFirstSIGTERMWhileItLoadsIsLost(t *testing.T) {
	p := start(t, vllmServe+" --shutdown-timeout 0", "FAKE_LOAD=1s").run()
	p.awaitEvent("started")
	time.Sleep(300 * time.Millisecond) // past the moment in which no handler is set
	p.signal(syscall.SIGTERM)
	p.awaitHealthy()
	p.signal(syscall.SIGTERM)
	if code := p.exitCode(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	wedged := start(t, vllmServe, "FAKE_LOAD=600ms", "FAKE_SIGTERM_LOADING=wedged").run()
	wedged.awaitEvent("started")
	time.Sleep(300 * time.Millisecond)
	wedged.signal(syscall.SIGTERM)
	time.Sleep(800 * time.Millisecond)
	if !wedged.isRefused() {
		t.Error("it serves")
	}
	wedged.signal(syscall.SIGTERM)
	if code := wedged.exitCode(); code != 130 {
		t.Errorf("exit code %d", code)
	}
}

func TestWhileItImportsSIGTERMEndsItUnlessItIsProcess1(t *testing.T) {
	p := start(t, vllmServe, "FAKE_IMPORTS=1m").run()
	p.awaitEvent("started")
	p.signal(syscall.SIGTERM)
	if code := p.exitCode(); code != 128+int(syscall.SIGTERM) {
		t.Errorf("exit code %d", code)
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can start a process 1")
	}
	first := start(t, vllmServe, "FAKE_IMPORTS=1m")
	first.command.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
	first.run().awaitEvent("pid 1\n")
	time.Sleep(300 * time.Millisecond)
	for range 3 {
		first.signal(syscall.SIGTERM)
	}
	time.Sleep(300 * time.Millisecond)
	if !first.lives() {
		t.Error("SIGTERM ended a process 1 that has no handler")
	}
	first.signal(os.Interrupt)
	if code := first.exitCode(); code != 130 {
		t.Errorf("exit code %d", code)
	}
}

func TestSGLangServesOnAfterSIGTERMAndSaysThatItIsNotReady(t *testing.T) {
	p := start(t, "python3 -m sglang.launch_server --model-path /models/m --host 0.0.0.0 --port PORT --enable-metrics", "FAKE_TEARDOWN=200ms").run().awaitHealthy()
	if status, _ := p.get("/ready"); status != http.StatusOK {
		t.Errorf("ready %d", status)
	}
	if _, body := p.get("/metrics"); !strings.Contains(body, `sglang:num_running_reqs{engine_type="unified",model_name="/models/m",pp_rank="0",tp_rank="0"} 0.0`) {
		t.Errorf("metrics %s", body)
	}
	c := p.stream(100, time.Minute)
	p.signal(syscall.SIGTERM)
	p.await("not ready", func() bool { status, _ := p.get("/ready"); return status == http.StatusServiceUnavailable })
	if status, _ := p.get("/health"); status != http.StatusServiceUnavailable {
		t.Errorf("health %d", status)
	}
	if status, _ := p.ask(http.MethodPost, "/v1/completions", `{"max_tokens":1}`); status != http.StatusOK {
		t.Errorf("a new request: %d", status)
	}
	p.expect(c, wholeStream, "")
	if code := p.exitCode(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestTheContractDrainsByPost(t *testing.T) {
	p := start(t, "engine --model /models/m --port PORT").run().awaitHealthy()
	if status, _ := p.get("/metrics"); status != http.StatusNotFound {
		t.Errorf("metrics %d", status)
	}
	c := p.stream(50, time.Minute)
	if status, _ := p.ask(http.MethodPost, "/drain", ""); status != http.StatusOK {
		t.Errorf("drain %d", status)
	}
	if got := p.tally(); got != (tally{Begun: 1, Finished: 1}) {
		t.Errorf("when it was drained: %+v", got)
	}
	if status, _ := p.get("/health/ready"); status != http.StatusServiceUnavailable {
		t.Errorf("ready %d", status)
	}
	p.expect(c, wholeStream, "")
	p.signal(syscall.SIGTERM)
	if code := p.exitCode(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestARankThatEndsTakesTheModelWithIt(t *testing.T) {
	master := freePort(t)
	group := " --nnodes 2 --master-addr 127.0.0.1 --master-port " + master
	leader := start(t, vllmServe+group+" --node-rank 0", "FAKE_LOST_RANK=500ms").run()
	time.Sleep(300 * time.Millisecond)
	if !leader.isRefused() {
		t.Error("it serves without its other rank")
	}
	worker := start(t, "vllm serve --model /models/tiny --headless"+group+" --node-rank 1").run()
	leader.awaitHealthy()
	c := leader.stream(100000, time.Minute)
	worker.signal(syscall.SIGTERM)
	if code := worker.exitCode(); code != 0 {
		t.Errorf("the worker's exit code %d", code)
	}
	leader.expect(c, truncated, "EngineCore encountered an issue")
	if status, _ := leader.get("/health"); status != http.StatusServiceUnavailable {
		t.Errorf("health %d", status)
	}
	if code := leader.exitCode(); code != 0 {
		t.Errorf("the leader's exit code %d", code)
	}
}

func TestAClientThatLeavesFreesItsSeat(t *testing.T) {
	p := start(t, vllmServe).run().awaitHealthy()
	ctx, leave := context.WithCancel(t.Context())
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url+"/v1/completions", strings.NewReader(`{"model":"m","max_tokens":100000,"stream":true}`))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(response.Body).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	leave()
	if _, err := io.Copy(io.Discard, response.Body); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	p.await("load 0", func() bool { _, load := p.get("/load"); return strings.Contains(load, ":0}") })
	if got := p.tally(); got != (tally{Begun: 1, Left: 1}) {
		t.Errorf("counters %+v", got)
	}
}

func TestArgumentsAreReadAsTheRealOnesReadThem(t *testing.T) {
	a, err := parseArguments(vllm, strings.Fields("/models/x --port=9000 --shutdown-timeout 885 --kv-cache-dtype fp8 --enable-chunked-prefill --new-flag"))
	if err != nil || a.model != "/models/x" || a.servedName != "/models/x" || a.port != 9000 || a.shutdownTimeout != 885*time.Second {
		t.Errorf("%+v, %v", a, err)
	}
	if got := strings.Join(a.ignored, ","); got != "--kv-cache-dtype fp8,--enable-chunked-prefill,--new-flag" {
		t.Errorf("ignored %s", got)
	}
	for _, wrong := range []string{"--max-num-seqs abc", "--shutdown-timeout -1", "--port"} {
		if _, err := parseArguments(vllm, strings.Fields(wrong)); err == nil {
			t.Errorf("%s is taken", wrong)
		}
	}
	if code := start(t, "vllm serve --port abc").run().exitCode(); code != 2 {
		t.Errorf("exit code %d", code)
	}
}
