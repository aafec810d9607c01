package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// identity names one process for good. A pid alone is reused by the kernel; together with the start time of
// /proc/PID/stat (in clock ticks since boot) and the boot id it is not.
type identity struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"`
	Boot  string `json:"boot"`
}

// identify reads the identity of a running process. A zombie counts as gone: an init that does not reap keeps it for ever.
func identify(pid int) (identity, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return identity{}, err
	}
	state, start, err := parseStat(string(stat))
	if err != nil {
		return identity{}, err
	}
	if state == "Z" || state == "X" {
		return identity{}, fmt.Errorf("process %d has ended", pid)
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return identity{}, err
	}
	return identity{PID: pid, Start: start, Boot: strings.TrimSpace(string(boot))}, nil
}

// parseStat takes the state (field 3) and the start time (field 22, see proc(5)). The command name in field 2 may itself
// hold blanks and brackets, so fields are counted from the last bracket.
func parseStat(stat string) (state string, start uint64, err error) {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) < 20 {
		return "", 0, fmt.Errorf("not a stat line: %q", stat)
	}
	start, err = strconv.ParseUint(fields[19], 10, 64)
	return fields[0], start, err
}

func (id identity) alive() bool {
	now, err := identify(id.PID)
	return err == nil && now == id
}

// signal sends sig only to the very process that id names: the handle (a pidfd) is opened before the check, so the pid
// cannot change its owner between check and signal.
func (id identity) signal(sig os.Signal) error {
	handle, err := os.FindProcess(id.PID)
	if err != nil {
		return err
	}
	defer handle.Release()
	if !id.alive() {
		return os.ErrProcessDone
	}
	return handle.Signal(sig)
}

// end asks the process to stop and kills it when it has not within patience. It returns once the process is gone.
func (id identity) end(patience time.Duration) (killed bool, err error) {
	if err := id.signal(syscall.SIGTERM); errors.Is(err, os.ErrProcessDone) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	if pollUntil(context.Background(), patience, func() bool { return !id.alive() }) == nil {
		return false, nil
	}
	return true, id.kill()
}

// kill ends the process at once, and returns once it is gone.
func (id identity) kill() error {
	if err := id.signal(syscall.SIGKILL); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	if pollUntil(context.Background(), 10*time.Second, func() bool { return !id.alive() }) != nil {
		return fmt.Errorf("process %d does not end, even when killed", id.PID)
	}
	return nil
}

func readIdentity(file string) (identity, error) {
	var id identity
	content, err := os.ReadFile(file)
	if err != nil {
		return id, err
	}
	return id, json.Unmarshal(content, &id)
}

// becomeVerb is the hidden command in which the child writes its own pid file before it becomes the component. So there
// is no moment at which a component runs without a pid file, not even when the launcher is killed right after the fork.
const becomeVerb = "become"

func become(args []string) error {
	if len(args) < 3 {
		return misuse("become is for this program's own use")
	}
	pidFile, cgroup, argv := args[0], args[1], args[2:]
	if cgroup != "" {
		if err := joinCgroup(cgroup); err != nil {
			return err
		}
	}
	id, err := identify(os.Getpid())
	if err != nil {
		return err
	}
	content, err := json.Marshal(id)
	if err != nil {
		return err
	}
	if err := writeFileAtomically(pidFile, content, 0o600); err != nil {
		return err
	}
	return fmt.Errorf("exec %s: %w", argv[0], syscall.Exec(argv[0], argv, os.Environ()))
}

// daemon is a component's process as its launcher sees it.
type daemon struct {
	id   identity
	gone chan struct{} // closed when the process has ended
	end  error         // how it ended; to be read after gone
}

// daemonPlan tells how a daemon's process is made.
type daemonPlan struct {
	argv                  []string
	dir, pidFile, logFile string
	cgroup                string     // to be in; empty: that of the launcher
	namespaces            uintptr    // of its own, as clone(2) counts them
	files                 []*os.File // what it has open, from descriptor 3 on
}

// startDaemon runs argv in a session of its own with its output in logFile, and returns once pidFile names it.
func startDaemon(plan daemonPlan) (*daemon, error) {
	log, err := os.OpenFile(plan.logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command("/proc/self/exe", append([]string{becomeVerb, plan.pidFile, plan.cgroup}, plan.argv...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = plan.dir, log, log, plan.files
	// Nothing of the user's environment: no proxy, KUBECONFIG or ~/.kwok may change what a component does.
	// GOGC spends memory (at the end of a start the API server has 780 MB instead of 540) to save a fifth of its processor time.
	cmd.Env = []string{"PATH=" + strings.Join(systemFolders(), ":"), "HOME=" + plan.dir, "GOGC=200"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Cloneflags: plan.namespaces}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	d := &daemon{gone: make(chan struct{})}
	go func() {
		d.end = cmd.Wait()
		close(d.gone)
	}()
	err = pollUntil(context.Background(), 10*time.Second, func() bool {
		id, err := readIdentity(plan.pidFile)
		d.id = id
		return (err == nil && id.PID == cmd.Process.Pid) || d.ended()
	})
	if err != nil || d.ended() {
		return d, fmt.Errorf("%s did not start", filepath.Base(plan.argv[0]))
	}
	return d, nil
}

func (d *daemon) ended() bool {
	select {
	case <-d.gone:
		return true
	default:
		return false
	}
}

// residentMemory of a process, in bytes; 0 when it cannot be read.
func residentMemory(pid int) int64 {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(content))
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize())
}
