package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const mountsOfVersion1 = `23 27 0:22 / /sys rw,relatime - sysfs sysfs rw
30 23 0:26 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
31 30 0:27 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct
32 30 0:28 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids
33 30 0:28 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids
34 30 0:29 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
35 27 0:28 / /elsewhere/pids rw,relatime - cgroup cgroup rw,pids
`

func TestEveryHierarchyOfCgroupsIsFoundOnce(t *testing.T) {
	var roots []string
	for _, each := range parseHierarchies(mountsOfVersion1) {
		roots = append(roots, strings.TrimPrefix(each.root, "/sys/fs/cgroup/"))
	}
	if !slices.Equal(roots, []string{"cpu,cpuacct", "pids", "unified"}) {
		t.Errorf("found %v", roots)
	}
	h, ok := counting(parseHierarchies(mountsOfVersion1))
	if !ok || h.root != "/sys/fs/cgroup/pids" || h.unified {
		t.Errorf("counting by %+v, %v", h, ok)
	}
	if _, ok := counting(nil); ok {
		t.Error("counting by no hierarchy")
	}
}

func writeFiles(t *testing.T, folder string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestANewCgroupOfVersion1HasTheCPUsOfItsParent(t *testing.T) {
	h := hierarchy{root: t.TempDir(), controllers: []string{"cpuset"}}
	writeFiles(t, h.root, map[string]string{"cpuset.cpus": "0-1\n", "cpuset.mems": "0\n"})
	for range 2 { // what is there from before is no failure
		if err := h.create("c"); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"c/cpuset.cpus", "c/system/cpuset.cpus"} {
		if got := fileText(t, filepath.Join(h.root, file)); got != "0-1\n" {
			t.Errorf("%s is %q", file, got)
		}
	}
}

func TestANewCgroupOfVersion2IsHandedTheControllers(t *testing.T) {
	h := hierarchy{root: t.TempDir(), unified: true, controllers: []string{"cpu", "pids"}}
	if err := h.create("c"); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"cgroup.subtree_control", "c/cgroup.subtree_control"} {
		if got := fileText(t, filepath.Join(h.root, file)); got != "+cpu +pids" {
			t.Errorf("%s is %q", file, got)
		}
	}
	if _, err := os.Stat(filepath.Join(h.root, "c/system/cgroup.subtree_control")); err == nil {
		t.Error("a cgroup with processes hands controllers down, which the kernel forbids")
	}
}

func fileText(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func TestMembersOfACgroupAreThoseOfAllBelowIt(t *testing.T) {
	h := hierarchy{root: t.TempDir()}
	below := filepath.Join(h.root, "c", "kubepods", "pod1")
	if err := os.MkdirAll(below, 0o755); err != nil {
		t.Fatal(err)
	}
	writeFiles(t, h.root, map[string]string{"cgroup.procs": "1\n2\n"})
	writeFiles(t, filepath.Join(h.root, "c"), map[string]string{"cgroup.procs": "0\n"}) // of another pid namespace: no pid here
	writeFiles(t, below, map[string]string{"cgroup.procs": "41\n42\n"})
	if got := h.members("c"); !slices.Equal(got, []int{41, 42}) {
		t.Errorf("members %v", got)
	}
	if got := h.members("absent"); got != nil {
		t.Errorf("members of nothing: %v", got)
	}
	if got := h.folders("c"); len(got) != 3 || got[0] != filepath.Join(h.root, "c") {
		t.Errorf("folders %v", got)
	}
}

func TestAProcessOutsideTheCgroupIsNotKilled(t *testing.T) {
	hierarchy{}.killMember(os.Getpid(), cgroupName("/no/such/state"))
	hierarchy{}.killMember(1<<30, "c")
}

func TestCgroupsOfTwoClustersDiffer(t *testing.T) {
	one, other := cgroupName("/a/dev"), cgroupName("/b/dev")
	if one == other || one != cgroupName("/a/dev") || strings.ContainsAny(one, "/. ") {
		t.Errorf("%s and %s", one, other)
	}
}

func TestAllThatARealNodeLacksIsSaidAtOnce(t *testing.T) {
	whole := conditions{capabilities: ^uint64(0), has: func(string) bool { return true }, plugins: true,
		hierarchies: []hierarchy{{controllers: []string{"cpu", "cpuset", "memory", "pids"}}}, folders: []string{"/srv/x"}}
	if lacks := whole.lacking(); len(lacks) > 0 {
		t.Errorf("a machine that has everything lacks %v", lacks)
	}
	poor := conditions{capabilities: ^uint64(1 << 21), has: func(name string) bool { return name != "runc" },
		hierarchies: []hierarchy{{controllers: []string{"cpu", "cpuset", "pids"}}}, folders: []string{"/var/x", "/variety"}}
	want := []string{"the capability CAP_SYS_ADMIN", "the program runc (Debian package runc)",
		"CNI's plugins (Debian package containernetworking-plugins)", "the cgroup controller memory",
		"/var/x outside /var, which the node has of its own"}
	if lacks := poor.lacking(); !slices.Equal(lacks, want) {
		t.Errorf("lacks %q", lacks)
	}
	poor.user = 1000
	if lacks := poor.lacking(); !slices.Equal(lacks, []string{"root (this is user 1000)"}) {
		t.Errorf("lacks %q", lacks)
	}
}

func TestEffectiveCapabilitiesAreRead(t *testing.T) {
	if got := effective("Name:\tx\nCapPrm:\t0000000000000001\nCapEff:\t0000000000200000\n"); got != 1<<21 {
		t.Errorf("got %x", got)
	}
	if got := effective(""); got != 0 {
		t.Errorf("got %x", got)
	}
}

func TestAConnectionIsForwardedBothWaysAndEndsWithItsPeer(t *testing.T) {
	inner, outer := listen(t), listen(t)
	go forward(outer, inner.Addr().String())
	go func() {
		connection, err := inner.Accept()
		if err != nil {
			return
		}
		question, _ := io.ReadAll(connection) // until the caller has said all
		fmt.Fprintf(connection, "heard %s", question)
		connection.Close()
	}()
	caller, err := net.Dial("tcp4", outer.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer caller.Close()
	fmt.Fprint(caller, "hello")
	caller.(*net.TCPConn).CloseWrite()
	if answer, err := io.ReadAll(caller); err != nil || string(answer) != "heard hello" {
		t.Errorf("%q, %v", answer, err)
	}
	inner.Close()
	late, err := net.Dial("tcp4", outer.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer late.Close()
	if answer, err := io.ReadAll(late); len(answer) > 0 || err != nil {
		t.Errorf("nobody answers %q, %v", answer, err)
	}
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	held, err := reserveAny()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(held.release)
	return held.listener
}

func TestTheNodeListensToItsOwnNetworkAndIsRestrictedToItself(t *testing.T) {
	c := &cluster{AddOns: map[string]string{nodeKit: "/bin"}, Ports: map[string]int{}}
	args := strings.Join(apiserverArgs(c), " ")
	for _, want := range []string{"--advertise-address=" + nodeAddress, "NodeRestriction", "--authorization-mode=Node,RBAC"} {
		if !strings.Contains(args, want) {
			t.Errorf("%q lacks %s", args, want)
		}
	}
	if strings.Contains(args, "endpoint-reconciler-type=none") {
		t.Error("pods would not find the API server")
	}
	if got := kubeletArgs(c); strings.Contains(strings.Join(got, " "), "nvidia.com") {
		t.Errorf("a node without GPUs is labelled: %v", got)
	}
	if _, err := c.inMachine("true"); err == nil {
		t.Error("entered a machine that does not run")
	}
}

func TestTheMachineHasThePortsInTheOrderOfItsSockets(t *testing.T) {
	c := &cluster{state: "/s", Ports: map[string]int{}}
	s := newSupervisor(c, nil)
	for _, name := range []string{machineName, "apiserver", "etcd"} {
		held, err := reserveAny()
		if err != nil {
			t.Fatal(err)
		}
		s.held[name], c.Ports[name] = held, held.port()
	}
	t.Cleanup(s.releasePorts)
	files, err := s.listeners()
	if err != nil {
		t.Fatal(err)
	}
	args := machineArgs(c)
	if args[2] != fmt.Sprint(c.Ports[machineName]) {
		t.Errorf("its own port: %v", args)
	}
	for index, file := range files {
		listener, err := net.FileListener(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, port, _ := net.SplitHostPort(listener.Addr().String()); port != args[3+index] {
			t.Errorf("socket %d is of port %s, not %s", index, port, args[3+index])
		}
		listener.Close()
		file.Close()
	}
}
