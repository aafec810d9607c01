package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// The machine is a network and a mount namespace in which every component of a cluster with a real node runs. Its process
// holds them and forwards the cluster's ports on this host's loopback address to the same ports inside, so whoever has the
// kubeconfig reaches the API server as that of any other cluster, and nobody reaches anything else. When the last process
// inside ends, the kernel takes both namespaces away, with all mounts, interfaces and rules in them.
const machineName = "machine"

// machineVerb is the hidden command that becomes the machine.
const machineVerb = "become-machine"

func machineArgs(c *cluster) []string {
	args := []string{machineVerb, c.state, strconv.Itoa(c.Ports[machineName])}
	for _, name := range portNames(c.Ports) {
		args = append(args, strconv.Itoa(c.Ports[name]))
	}
	return args
}

func portNames(ports map[string]int) []string {
	names := []string{}
	for name := range ports {
		names = append(names, name)
	}
	return sorted(names)
}

// listeners are the open sockets of the cluster's ports, in the order of portNames. They stay in this host's network, in
// whatever namespace the process is that has them open.
func (s *supervisor) listeners() ([]*os.File, error) {
	var files []*os.File
	for _, name := range portNames(s.c.Ports) {
		held, ok := s.held[name].listener.(*net.TCPListener)
		if !ok {
			return nil, fmt.Errorf("port %s is not held", name)
		}
		file, err := held.File()
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}

// becomeMachine runs in namespaces of its own, which it sets up; it ends when it is told to.
func becomeMachine(args []string) error {
	if len(args) < 3 {
		return misuse("%s is for this program's own use", machineVerb)
	}
	if err := errors.Join(mountOwn(args[0]), connectOwn()); err != nil {
		return err
	}
	own, ended := args[1], make(chan error)
	for index, port := range args[2:] {
		listener, err := net.FileListener(os.NewFile(uintptr(3+index), port))
		if err != nil {
			return fmt.Errorf("port %s: %w", port, err)
		}
		go func() {
			if port == own {
				ended <- http.Serve(listener, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
			}
			ended <- forward(listener, net.JoinHostPort("127.0.0.1", port))
		}()
	}
	return <-ended
}

// tunables are the kernel's settings that a kubelet changes for the whole machine. Here it changes copies.
var tunables = []string{"vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops",
	"kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes"}

// ownFolders are the machine's own in place of the host's, so that kubelet and containerd, which have fixed paths there,
// neither see another cluster's nor leave anything behind.
var ownFolders = []string{"/var", "/run"}

// mountOwn gives the machine its own folders, below the state folder or in memory. Nothing of it is seen outside.
func mountOwn(state string) error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	own := filepath.Join(state, machineName, "var")
	for folder, mode := range map[string]os.FileMode{"lib": 0o755, "log": 0o755, "cache": 0o755, "tmp": 0o777 | os.ModeSticky} {
		if err := errors.Join(os.MkdirAll(filepath.Join(own, folder), 0o755), os.Chmod(filepath.Join(own, folder), mode)); err != nil {
			return err
		}
	}
	if err := os.Symlink("/run", filepath.Join(own, "run")); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	for _, name := range tunables {
		if err := mountCopy(filepath.Join("/proc/sys", name), filepath.Join(state, machineName, "sys", name)); err != nil {
			return err
		}
	}
	if err := syscall.Mount(own, "/var", "", syscall.MS_BIND, ""); err != nil {
		return fmt.Errorf("mount /var: %w", err)
	}
	if err := syscall.Mount("tmpfs", "/run", "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV, "mode=0755"); err != nil {
		return fmt.Errorf("mount /run: %w", err)
	}
	// As every distribution has it: else a container could not be given a mount that is made later.
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_SHARED, ""); err != nil {
		return fmt.Errorf("make mounts shared: %w", err)
	}
	return nil
}

// mountCopy puts a copy of a file in the file's place.
func mountCopy(file, copied string) error {
	content, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) { // this kernel has no such setting
		return nil
	}
	if err != nil {
		return err
	}
	if err := errors.Join(os.MkdirAll(filepath.Dir(copied), 0o700), os.WriteFile(copied, content, 0o600)); err != nil {
		return err
	}
	if err := syscall.Mount(copied, file, "", syscall.MS_BIND, ""); err != nil {
		return fmt.Errorf("mount %s: %w", file, err)
	}
	return nil
}

// links gives the machine one address that is not its loopback's. The kubelet wants an interface that has it and a default
// route; behind the other end of the pair is nobody.
const links = `link set lo up
link add node0 type veth peer name node0p
addr add ` + nodeAddress + `/24 dev node0
link set node0 up
link set node0p up
route add default via 10.250.0.254 dev node0
`

func connectOwn() error {
	ip := exec.Command("ip", "-batch", "-")
	ip.Stdin = strings.NewReader(links)
	if out, err := ip.CombinedOutput(); err != nil {
		return fmt.Errorf("ip: %w\n%s", err, indent(lastLines(string(out), 5)))
	}
	return os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0)
}

// forward copies between each connection to the listener and one of its own to address.
func forward(listener net.Listener, address string) error {
	for {
		outer, err := listener.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer outer.Close()
			inner, err := net.DialTimeout("tcp4", address, 10*time.Second)
			if err != nil {
				return // nothing listens there: the caller sees the end of the connection
			}
			defer inner.Close()
			done := make(chan struct{}, 2)
			for _, pair := range [][2]net.Conn{{outer, inner}, {inner, outer}} {
				go func() {
					io.Copy(pair[0], pair[1])           // its end, good or bad, is handed on
					pair[0].(*net.TCPConn).CloseWrite() //nolint: both are TCP
					done <- struct{}{}
				}()
			}
			<-done
			<-done
		}()
	}
}

// inMachine makes a command line that runs argv in the machine's namespaces.
func (c *cluster) inMachine(argv ...string) ([]string, error) {
	id, ok := c.running(machineName)
	if !ok {
		return nil, errors.New("the machine of this cluster does not run: `down`, then `up`")
	}
	enter := []string{systemProgram("nsenter"), fmt.Sprintf("--target=%d", id.PID), "--mount", "--net", "--wdns=" + c.state, "--"}
	return append(enter, argv...), nil
}

// portVerb is the hidden command that says, in the machine, whether a port is free.
const portVerb = "try-port"

func tryPort(args []string) error {
	if len(args) != 1 {
		return misuse("%s is for this program's own use", portVerb)
	}
	port, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	held, err := reserveExactly(port)
	if err == nil {
		held.release()
	}
	return err
}

func (c *cluster) portIsFreeInMachine(ctx context.Context, port int) error {
	argv, err := c.inMachine(fmt.Sprintf("/proc/%d/exe", os.Getpid()), portVerb, strconv.Itoa(port))
	if err != nil {
		return err
	}
	if out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).CombinedOutput(); err != nil {
		return errors.New(lastLines(string(out), 1))
	}
	return nil
}

// systemProgram is the path of a program of the distribution, or its name when it is not there.
func systemProgram(name string) string {
	for _, folder := range systemFolders() {
		file := filepath.Join(folder, name)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
			return file
		}
	}
	return name
}

// systemFolders are those of PATH, and those that a user's PATH often lacks.
func systemFolders() []string {
	folders := filepath.SplitList(os.Getenv("PATH"))
	for _, folder := range []string{"/usr/sbin", "/sbin"} {
		if !slices.Contains(folders, folder) {
			folders = append(folders, folder)
		}
	}
	return folders
}
