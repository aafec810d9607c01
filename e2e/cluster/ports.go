package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Ports are taken from below the range that the kernel gives to outgoing connections (32768 by default): a port from
// that range can be gone by the time a component restarts, and a client that redials it may even connect to itself.
const lowestPort, highestPort = 20000, 29999

// reservation holds a free port by listening on it, so that no other cluster that starts now can choose the same.
type reservation struct{ listener net.Listener }

func reserve(port int) (reservation, error) {
	listener, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	return reservation{listener}, err
}

func (r reservation) port() int { return r.listener.Addr().(*net.TCPAddr).Port }

// release frees the port for the component, to be called right before it starts.
func (r reservation) release() { r.listener.Close() }

// reserveAny takes some free port.
func reserveAny() (reservation, error) {
	for range 200 {
		r, err := reserve(lowestPort + rand.IntN(highestPort-lowestPort+1))
		if err == nil {
			return r, nil
		}
	}
	return reservation{}, fmt.Errorf("no free port found between %d and %d", lowestPort, highestPort)
}

// reserveExactly takes this port, or says who holds it.
func reserveExactly(port int) (reservation, error) {
	r, err := reserve(port)
	if errors.Is(err, syscall.EADDRINUSE) {
		return r, fmt.Errorf("port %d is in use by %s", port, portHolder(port))
	}
	if err != nil {
		return r, fmt.Errorf("port %d: %w", port, err)
	}
	return r, nil
}

// portHolder names the process that listens on a TCP port, as far as /proc tells this user.
func portHolder(port int) string {
	sockets := map[string]bool{}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		file, err := os.Open(table)
		if err != nil {
			continue
		}
		for _, inode := range listeningInodes(file, port) {
			sockets["socket:["+inode+"]"] = true
		}
		file.Close()
	}
	descriptors, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, descriptor := range descriptors {
		if target, err := os.Readlink(descriptor); err == nil && sockets[target] {
			pid := strings.Split(descriptor, "/")[2]
			name, _ := os.ReadFile("/proc/" + pid + "/comm")
			return fmt.Sprintf("pid %s (%s)", pid, strings.TrimSpace(string(name)))
		}
	}
	return "a process of another user or network namespace"
}

// listeningInodes reads a table like /proc/net/tcp (see proc(5)): the local address is field 2 with a hexadecimal port,
// the state is field 4 (0A is LISTEN), the socket's inode field 10.
func listeningInodes(table io.Reader, port int) []string {
	var inodes []string
	suffix := fmt.Sprintf(":%04X", port)
	for lines := bufio.NewScanner(table); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) > 9 && strings.HasSuffix(fields[1], suffix) && fields[3] == "0A" {
			inodes = append(inodes, fields[9])
		}
	}
	return inodes
}
