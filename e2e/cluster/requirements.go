package main

import (
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// required are the programs of the distribution that a real node needs, with Debian's packages.
var required = []struct{ program, pkg string }{
	{"busybox", "busybox-static"}, {"containerd", "containerd"}, {"containerd-shim-runc-v2", "containerd"}, {"ctr", "containerd"},
	{"ip", "iproute2"}, {"mount", "mount"}, {"nft", "nftables"}, {"nsenter", "util-linux"}, {"runc", "runc"},
}

// capabilities that setting up namespaces, devices and containers needs, by their number in capabilities(7).
var capabilities = []struct {
	bit  int
	name string
}{{12, "CAP_NET_ADMIN"}, {18, "CAP_SYS_CHROOT"}, {19, "CAP_SYS_PTRACE"}, {21, "CAP_SYS_ADMIN"}, {27, "CAP_MKNOD"}}

// controllers that the kubelet can't do without.
var controllers = []string{"cpu", "cpuset", "memory", "pids"}

// conditions are what a real node depends on, as found on this machine.
type conditions struct {
	user         int
	capabilities uint64
	has          func(program string) bool
	plugins      bool // of CNI
	hierarchies  []hierarchy
	folders      []string // that must be seen beside the machine's own ones
}

// lacking names everything that is missing for a real node.
func (m conditions) lacking() []string {
	var lacks []string
	if m.user != 0 {
		return []string{fmt.Sprintf("root (this is user %d)", m.user)} // who can't see the rest anyway
	}
	for _, each := range capabilities {
		if m.capabilities&(1<<each.bit) == 0 {
			lacks = append(lacks, "the capability "+each.name)
		}
	}
	for _, each := range required {
		if !m.has(each.program) {
			lacks = append(lacks, fmt.Sprintf("the program %s (Debian package %s)", each.program, each.pkg))
		}
	}
	if !m.plugins {
		lacks = append(lacks, "CNI's plugins (Debian package containernetworking-plugins)")
	}
	for _, each := range controllers {
		if !slices.ContainsFunc(m.hierarchies, func(h hierarchy) bool { return slices.Contains(h.controllers, each) }) {
			lacks = append(lacks, "the cgroup controller "+each)
		}
	}
	for _, own := range ownFolders {
		for _, folder := range m.folders {
			if strings.HasPrefix(folder, own+"/") {
				lacks = append(lacks, fmt.Sprintf("%s outside %s, which the node has of its own", folder, own))
			}
		}
	}
	return lacks
}

// requireMachine says all that is missing for a real node, in one error.
func requireMachine(folders ...string) error {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	groups, err := hierarchies()
	if err != nil {
		return err
	}
	_, noPlugins := cniPlugins()
	found := conditions{user: os.Geteuid(), capabilities: effective(string(status)), has: hasProgram, plugins: noPlugins == nil,
		hierarchies: groups, folders: folders}
	if lacks := found.lacking(); len(lacks) > 0 {
		return fmt.Errorf("a real node needs %s", strings.Join(lacks, ", "))
	}
	return nil
}

// effective is the set of capabilities that /proc/self/status tells.
func effective(status string) uint64 {
	for line := range strings.Lines(status) {
		if text, ok := strings.CutPrefix(line, "CapEff:"); ok {
			bits, _ := strconv.ParseUint(strings.TrimSpace(text), 16, 64)
			return bits
		}
	}
	return 0
}

// hasProgram: busybox goes into images by itself, so it must need no library.
func hasProgram(name string) bool {
	file := systemProgram(name)
	if !filepath.IsAbs(file) {
		return false
	}
	return name != "busybox" || isStatic(file)
}

func isStatic(file string) bool {
	program, err := elf.Open(file)
	if err != nil {
		return false
	}
	defer program.Close()
	return !slices.ContainsFunc(program.Progs, func(each *elf.Prog) bool { return each.Type == elf.PT_INTERP })
}

// cniPlugins is the folder of the network plugins.
func cniPlugins() (string, error) {
	for _, folder := range []string{"/usr/lib/cni", "/opt/cni/bin"} {
		if _, err := os.Stat(filepath.Join(folder, "ptp")); err == nil {
			return folder, nil
		}
	}
	return "", fmt.Errorf("CNI's plugins are neither in /usr/lib/cni nor in /opt/cni/bin")
}
