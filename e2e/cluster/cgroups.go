package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Everything of a cluster with a real node is in a cgroup of the cluster: its components below system/, its containers
// below kubepods/, where the kubelet puts them. So the kernel itself knows what belongs to the cluster, whatever crashed.

// cgroupName is the name of the cluster's cgroup below the root of each hierarchy. It follows from the state folder alone:
// who lost the record can still clean up.
func cgroupName(state string) string {
	sum := sha256.Sum256([]byte(state))
	return "localcluster-" + hex.EncodeToString(sum[:])[:12]
}

const systemCgroup = "system"

// hierarchy is a tree of cgroups: one of several (version 1, each for some controllers) or the only one (version 2).
type hierarchy struct {
	root        string
	unified     bool
	controllers []string
}

// parseHierarchies reads /proc/self/mountinfo, see proc(5): the mount point is field 5, and after a lone dash come the type
// of the file system, its source and its options, which name the controllers of version 1.
func parseHierarchies(mountinfo string) []hierarchy {
	var found []hierarchy
	for line := range strings.Lines(mountinfo) {
		before, after, ok := strings.Cut(strings.TrimSpace(line), " - ")
		place, kind := strings.Fields(before), strings.Fields(after)
		if !ok || len(place) < 5 || len(kind) < 3 {
			continue
		}
		root := place[4]
		known := slices.ContainsFunc(found, func(each hierarchy) bool { return each.root == root })
		switch {
		case known || !strings.HasPrefix(root, "/sys/fs/cgroup"):
		case kind[0] == "cgroup":
			found = append(found, hierarchy{root: root, controllers: strings.Split(kind[2], ",")})
		case kind[0] == "cgroup2":
			controllers, _ := os.ReadFile(filepath.Join(root, "cgroup.controllers"))
			found = append(found, hierarchy{root: root, unified: true, controllers: strings.Fields(string(controllers))})
		}
	}
	return found
}

func hierarchies() ([]hierarchy, error) {
	content, err := os.ReadFile("/proc/self/mountinfo")
	return parseHierarchies(string(content)), err
}

// counting is the hierarchy that says which processes belong to a cluster.
func counting(all []hierarchy) (hierarchy, bool) {
	index := slices.IndexFunc(all, func(each hierarchy) bool { return slices.Contains(each.controllers, "pids") })
	if index < 0 {
		return hierarchy{}, false
	}
	return all[index], true
}

// createCgroup makes the cluster's cgroup in every hierarchy.
func createCgroup(name string) error {
	all, err := hierarchies()
	for _, each := range all {
		err = errors.Join(err, each.create(name))
	}
	return err
}

func (h hierarchy) create(name string) error {
	parent := h.root
	for _, folder := range []string{filepath.Join(h.root, name), filepath.Join(h.root, name, systemCgroup)} {
		if h.unified && len(h.controllers) > 0 {
			hand := "+" + strings.Join(h.controllers, " +")
			if err := os.WriteFile(filepath.Join(parent, "cgroup.subtree_control"), []byte(hand), 0); err != nil {
				return fmt.Errorf("hand down the controllers of %s: %w", parent, err)
			}
		}
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
		if slices.Contains(h.controllers, "cpuset") && !h.unified { // a new one has no CPUs, and takes no process
			if err := errors.Join(copyFile(parent, folder, "cpuset.cpus"), copyFile(parent, folder, "cpuset.mems")); err != nil {
				return err
			}
		}
		parent = folder
	}
	return nil
}

func copyFile(from, to, name string) error {
	content, err := os.ReadFile(filepath.Join(from, name))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(to, name), content, 0o644)
}

// joinCgroup moves this process into the cluster's cgroup. One hierarchy is enough to be counted: in the others, which may
// limit it, it stays where its launcher is.
func joinCgroup(name string) error {
	all, err := hierarchies()
	if err != nil {
		return err
	}
	h, ok := counting(all)
	if !ok {
		return errors.New("no hierarchy of cgroups has the controller pids")
	}
	return os.WriteFile(filepath.Join(h.root, name, systemCgroup, "cgroup.procs"), []byte(strconv.Itoa(os.Getpid())), 0)
}

// clearCgroups ends every process that belongs to the cluster of this state folder and removes its cgroups.
func clearCgroups(state string) error {
	all, err := hierarchies()
	if err != nil {
		return err
	}
	name := cgroupName(state)
	if h, ok := counting(all); ok {
		if err := h.empty(name); err != nil {
			return err
		}
	}
	for _, each := range all {
		err = errors.Join(err, each.remove(name))
	}
	return err
}

// empty kills whatever is in the cgroup, until nothing is: what is killed may have had a child at the last moment.
func (h hierarchy) empty(name string) error {
	var members []int
	if pollUntil(context.Background(), 30*time.Second, func() bool {
		members = h.members(name)
		for _, pid := range members {
			h.killMember(pid, name)
		}
		return len(members) == 0
	}) != nil {
		return fmt.Errorf("processes %v of cgroup %s do not end, even when killed", members, name)
	}
	return nil
}

// members are the processes in the cgroup and in those below it.
func (h hierarchy) members(name string) []int {
	var pids []int
	for _, folder := range h.folders(name) {
		content, _ := os.ReadFile(filepath.Join(folder, "cgroup.procs")) // it may be gone by now
		for _, field := range strings.Fields(string(content)) {
			if pid, err := strconv.Atoi(field); err == nil && pid > 0 {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// killMember kills the process if it is in the cgroup: the handle (a pidfd) is opened before the check.
func (h hierarchy) killMember(pid int, name string) {
	handle, err := os.FindProcess(pid)
	if err != nil {
		return
	}
	defer handle.Release()
	own, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err == nil && strings.Contains(string(own), ":/"+name+"/") {
		handle.Signal(syscall.SIGKILL)
	}
}

// remove deletes the cgroup and those below it. A cgroup whose last process has just ended may still be busy.
func (h hierarchy) remove(name string) error {
	var last error
	if pollUntil(context.Background(), 20*time.Second, func() bool {
		last = nil
		folders := h.folders(name)
		slices.Reverse(folders)
		for _, folder := range folders {
			if err := syscall.Rmdir(folder); err != nil && !errors.Is(err, fs.ErrNotExist) {
				last = fmt.Errorf("remove %s: %w", folder, err)
			}
		}
		return last == nil
	}) != nil {
		return last
	}
	return nil
}

// folders of the cgroup and of those below it, parents first.
func (h hierarchy) folders(name string) []string {
	var folders []string
	filepath.WalkDir(filepath.Join(h.root, name), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			folders = append(folders, path)
		}
		return nil // what vanishes meanwhile is not our concern
	})
	return folders
}
