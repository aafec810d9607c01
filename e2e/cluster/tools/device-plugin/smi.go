package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// smi answers like nvidia-smi of a machine with H100s that are all linked by NVLink, for the devices that are visible.
func smi(args []string, devices string, out io.Writer) int {
	var gpus []string
	for _, each := range strings.Split(devices, ",") {
		if strings.HasPrefix(each, "GPU-") {
			gpus = append(gpus, each)
		}
	}
	slices.Sort(gpus) // GPU 0 of a container is the first of the machine's, in whatever order they were given out
	switch {
	case len(gpus) == 0:
		fmt.Fprintln(out, "No devices were found")
		return 6
	case slices.Equal(args, []string{"-L"}):
		for index, id := range gpus {
			fmt.Fprintf(out, "GPU %d: NVIDIA H100 80GB HBM3 (UUID: %s)\n", index, id)
		}
	case slices.Equal(args, []string{"topo", "-m"}):
		matrix(len(gpus), out)
	default:
		fmt.Fprintf(out, "nvidia-smi %s: this stand-in knows -L and topo -m\n", strings.Join(args, " "))
		return 2
	}
	return 0
}

func matrix(count int, out io.Writer) {
	for index := range count {
		fmt.Fprintf(out, "\tGPU%d", index)
	}
	fmt.Fprintln(out, "\tCPU Affinity\tNUMA Affinity")
	for row := range count {
		fmt.Fprintf(out, "GPU%d", row)
		for column := range count {
			link := "NV18"
			if row == column {
				link = " X "
			}
			fmt.Fprintf(out, "\t%s", link)
		}
		fmt.Fprintln(out, "\t0-1\t0")
	}
	fmt.Fprintln(out, "\nLegend:\n\n  X    = Self\n  NV#  = Connection traversing a bonded set of # NVLinks")
}
