package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// clusterVerb lets a test run the whole program as a process of its own.
const clusterVerb = "cluster"

// The tests start the test binary itself as a daemon; it then has to play the part of the real program's hidden commands.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && ownVerbs[os.Args[1]] != nil {
		os.Exit(exitCode(ownVerbs[os.Args[1]](os.Args[2:])))
	}
	if len(os.Args) > 1 && os.Args[1] == clusterVerb {
		os.Exit(dispatch(os.Args[2:]))
	}
	os.Exit(m.Run())
}

func TestStatIsParsedWhateverTheCommandIsCalled(t *testing.T) {
	stat := "42 (a) b ( 7) S 1 42 42 0 -1 4194304 95 0 0 0 0 0 0 0 20 0 1 0 987654 2617344 199 18446744073709551615"
	state, start, err := parseStat(stat)
	if err != nil || state != "S" || start != 987654 {
		t.Fatalf("got %q, %d, %v", state, start, err)
	}
	if _, _, err := parseStat("42 (short) S 1"); err == nil {
		t.Fatal("a short line was accepted")
	}
}

func TestAProcessWithAnotherStartTimeIsNotSignalled(t *testing.T) {
	sleeper := exec.Command("sleep", "60")
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- sleeper.Wait() }()

	id, err := identify(sleeper.Process.Pid)
	if err != nil || !id.alive() {
		t.Fatalf("identify: %v", err)
	}
	impostor := id
	impostor.Start++ // what a pid file says after the kernel has given the pid to another process
	if impostor.alive() {
		t.Error("the impostor counts as alive")
	}
	if killed, err := impostor.end(time.Second); err != nil || killed {
		t.Errorf("end of an impostor: %v, %v", killed, err)
	}
	otherBoot := id
	otherBoot.Boot = "before the reboot"
	if otherBoot.alive() {
		t.Error("a process of another boot counts as alive")
	}
	if !id.alive() {
		t.Fatal("the process was signalled through a wrong identity")
	}
	if _, err := id.end(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	<-ended
}

func TestAZombieCountsAsGone(t *testing.T) {
	child := exec.Command("true")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer child.Wait() // until then it is a zombie
	gone := func() bool { _, err := identify(child.Process.Pid); return err != nil }
	if err := pollUntil(t.Context(), 10*time.Second, gone); err != nil {
		t.Fatal("the zombie was identified as running")
	}
}

func TestADaemonWritesItsOwnPidFileAndResistsWhatStopsTheLauncher(t *testing.T) {
	dir := t.TempDir()
	pidFile := filepath.Join(dir, "sleeper.pid")
	d, err := startDaemon(daemonPlan{argv: []string{"/bin/sleep", "60"}, dir: dir, pidFile: pidFile, logFile: filepath.Join(dir, "sleeper.log")})
	if err != nil {
		t.Fatal(err)
	}
	id, err := readIdentity(pidFile)
	if err != nil || id != d.id || !id.alive() {
		t.Fatalf("pid file says %v (%v), the launcher %v", id, err, d.id)
	}
	if _, err := id.end(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	<-d.gone
	if id.alive() {
		t.Error("still alive after its end")
	}
}

func TestADaemonThatCannotStartIsReported(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	d, err := startDaemon(daemonPlan{argv: []string{filepath.Join(dir, "absent")}, dir: dir, pidFile: filepath.Join(dir, "pid"), logFile: log})
	if err == nil { // the pid file was seen before the exec failed
		<-d.gone
	}
	if d.end == nil {
		t.Error("the failed exec has no exit error")
	}
	if content, _ := os.ReadFile(log); len(content) == 0 {
		t.Error("the log does not tell why")
	}
}

func TestKillDoesNotAskFirst(t *testing.T) {
	dir := t.TempDir()
	// It does not end when asked, so only SIGKILL ends it.
	d, err := startDaemon(daemonPlan{argv: []string{"/bin/sh", "-c", "trap '' TERM; exec sleep 60"}, dir: dir, pidFile: filepath.Join(dir, "pid"), logFile: filepath.Join(dir, "log")})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.id.kill(); err != nil {
		t.Fatal(err)
	}
	<-d.gone
	if err := d.id.kill(); err != nil {
		t.Errorf("kill of what has ended: %v", err)
	}
}
