package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"inference-operator.dev/bench/sample"
)

// size of a contestant's program without symbols, and of the shared libraries that it loads, in MB.
func (b *bench) size(ctx context.Context, who contestant) (program, libraries float64, err error) {
	path := who.command("", "")[0]
	stripped := filepath.Join(b.out, who.name+".stripped")
	if err := exec.CommandContext(ctx, "strip", "-o", stripped, path).Run(); err != nil {
		return 0, 0, err
	}
	defer os.Remove(stripped)
	if program, err = megabytes(stripped); err != nil {
		return 0, 0, err
	}
	text, err := exec.CommandContext(ctx, "ldd", path).Output()
	if err != nil {
		return program, 0, nil // a static program
	}
	for line := range strings.Lines(string(text)) {
		_, target, found := strings.Cut(line, "=> ")
		if !found {
			continue
		}
		size, err := megabytes(strings.Fields(target)[0])
		if err != nil {
			return 0, 0, err
		}
		libraries += size
	}
	return program, libraries, nil
}

func megabytes(path string) (float64, error) {
	info, err := os.Stat(path) // of what a link points to
	if err != nil {
		return 0, err
	}
	return float64(info.Size()) / 1e6, nil
}

func childrenOf(path string) (int, error) {
	s, err := sample.Load(path)
	if err != nil {
		return 0, err
	}
	return len(s.Children), nil
}
