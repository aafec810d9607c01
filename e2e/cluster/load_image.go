package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"inference-operator.dev/images"
)

// sandboxImage holds each pod's namespaces. It has all commands of busybox, so tests can use it too.
const sandboxImage = "localhost/busybox:1"

// importPatience is how long the kubelet's side of containerd may take to know an image that was imported.
const importPatience = 30 * time.Second

// loadImage imports an archive on the real node and returns the names of its images once pods can have them.
func (c *cluster) loadImage(ctx context.Context, file string) ([]string, error) {
	archive, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer archive.Close()
	names, err := images.Names(archive)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if _, err := archive.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	return names, c.importImages(ctx, archive, names)
}

func (c *cluster) loadSandboxImage(ctx context.Context) error {
	image, err := images.Busybox(sandboxImage, systemProgram("busybox"))
	if err != nil {
		return err
	}
	image.Entrypoint = []string{"/bin/tail", "-f", "/dev/null"}
	var archive bytes.Buffer
	if err := image.Write(&archive); err != nil {
		return err
	}
	return c.importImages(ctx, &archive, []string{sandboxImage})
}

func (c *cluster) importImages(ctx context.Context, archive io.Reader, names []string) error {
	if !c.hasNode() {
		return fmt.Errorf("cluster %s has no real node: start it with `up --node`", c.Name)
	}
	if _, err := c.ctr(ctx, archive, "images", "import", "-"); err != nil {
		return err
	}
	var known []string
	var failure error
	err := pollUntil(ctx, importPatience, func() bool {
		var out string
		out, failure = c.ctr(ctx, nil, "images", "list", "--quiet", `labels."io.cri-containerd.image"==managed`)
		known = strings.Fields(out)
		return failure == nil && !slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(known, name) })
	})
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return errors.Join(fmt.Errorf("of %v containerd knows only %v after %s", names, known, importPatience), failure)
	}
	return err
}

// ctr runs containerd's own client on the node.
func (c *cluster) ctr(ctx context.Context, input io.Reader, args ...string) (string, error) {
	argv, err := c.inMachine(append([]string{systemProgram("ctr"), "--namespace", "k8s.io"}, args...)...)
	if err != nil {
		return "", err
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = input, &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("ctr %s: %w\n%s", strings.Join(args, " "), err, indent(lastLines(stderr.String(), 5)))
	}
	return stdout.String(), nil
}
