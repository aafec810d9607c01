package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

const tcpTable = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:192B 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 111 1 0000 100 0 0 10 0
   1: 0100007F:192B 0100007F:A000 01 00000000:00000000 00:00000000 00000000     0        0 222 1 0000 20 4 30 10 -1
   2: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 333 1 0000 100 0 0 10 0
`

func TestOnlyTheListenerOfThePortIsFound(t *testing.T) {
	if got := listeningInodes(strings.NewReader(tcpTable), 6443); !slices.Equal(got, []string{"111"}) {
		t.Errorf("port 6443 is held by inodes %v", got)
	}
	if got := listeningInodes(strings.NewReader(tcpTable), 43); got != nil {
		t.Errorf("port 43 is held by inodes %v", got)
	}
}

func TestAPortInUseNamesItsHolder(t *testing.T) {
	held, err := reserveAny()
	if err != nil {
		t.Fatal(err)
	}
	defer held.release()
	_, err = reserveExactly(held.port())
	if err == nil {
		t.Fatal("the port was given out twice")
	}
	for _, part := range []string{fmt.Sprintf("port %d", held.port()), fmt.Sprintf("pid %d (", os.Getpid())} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q lacks %q", err, part)
		}
	}
}

func TestPortsLieOutsideTheRangeOfOutgoingConnections(t *testing.T) {
	content, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		t.Skip(err)
	}
	var low, high int
	if _, err := fmt.Sscan(string(content), &low, &high); err != nil {
		t.Fatal(err)
	}
	if low != 32768 {
		t.Skipf("this machine has its own range, %d to %d", low, high)
	}
	held, err := reserveAny()
	if err != nil {
		t.Fatal(err)
	}
	defer held.release()
	if port := held.port(); port >= low || port < 1024 {
		t.Errorf("chose port %d", port)
	}
}
