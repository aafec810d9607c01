package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// buildMissing makes the programs and manifests that bin lacks. It may run twice at once: the second waits for the first
// and then finds everything there. Each file is built under a temporary name and renamed, so that an interrupted build
// leaves no half a binary behind.
func buildMissing(ctx context.Context, root, bin string, say *progress) error {
	if len(missingFrom(bin)) == 0 {
		return nil
	}
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return err
	}
	lock, err := waitForLock(ctx, filepath.Join(bin, ".lock"), 30*time.Minute, func(holder string) {
		say.note("another build is running (%s), waiting for it", holder)
	})
	if err != nil {
		return err
	}
	defer lock.release()

	leftovers, _ := filepath.Glob(filepath.Join(bin, "*"+temporarySuffix))
	for _, file := range leftovers { // of a killed build: its lock is gone, so nobody writes them
		os.Remove(file)
	}
	missing := missingFrom(bin)
	for _, p := range programs {
		if !slices.Contains(missing, p.name) {
			continue
		}
		if err := say.step("built "+p.name, func() error { return buildProgram(ctx, root, bin, p) }); err != nil {
			return err
		}
	}
	for _, m := range manifests {
		if !slices.Contains(missing, m.name) {
			continue
		}
		if err := say.step("copied "+m.name, func() error { return copyManifest(ctx, root, bin, m) }); err != nil {
			return err
		}
	}
	return nil
}

const temporarySuffix = ".partial"

// toolEnv pins the settings that would otherwise let a user's environment change what is built.
func toolEnv() []string {
	return append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=readonly", "GOWORK=off")
}

func buildProgram(ctx context.Context, root, bin string, p program) error {
	dir := filepath.Join(toolsDir(root), p.module)
	goMod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return err
	}
	flags, err := linkerFlags(p, string(goMod))
	if err != nil {
		return err
	}
	temporary := filepath.Join(bin, p.name+temporarySuffix)
	if _, err := run(ctx, dir, "go", "build", "-trimpath", "-ldflags", flags, "-o", temporary, p.pkg); err != nil {
		return fmt.Errorf("build %s: %w", p.name, err)
	}
	return os.Rename(temporary, filepath.Join(bin, p.name))
}

// copyManifest joins the sources into one file; .json ones are converted by kubectl, which needs no server for that.
func copyManifest(ctx context.Context, root, bin string, m manifest) error {
	dir := filepath.Join(toolsDir(root), m.module)
	out, err := run(ctx, dir, "go", "mod", "download", "-json", m.upstream)
	if err != nil {
		return fmt.Errorf("locate %s: %w", m.upstream, err)
	}
	source, err := jsonField(out, "Dir")
	if err != nil {
		return fmt.Errorf("locate %s: %w", m.upstream, err)
	}
	var content []byte
	if strings.HasSuffix(m.name, ".json") {
		args := []string{"annotate", "--local", "-o", "json", "none-"} // removing an annotation that is not there: a pure conversion
		for _, file := range m.sources {
			args = append(args, "-f", filepath.Join(source, file))
		}
		content, err = run(ctx, dir, filepath.Join(bin, "kubectl"), args...)
	} else {
		content, err = joinDocuments(source, m.sources)
	}
	if err != nil {
		return fmt.Errorf("copy %s: %w", m.name, err)
	}
	target := filepath.Join(bin, m.name)
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	return writeFileAtomically(target, content, 0o644)
}

func joinDocuments(dir string, files []string) ([]byte, error) {
	var documents [][]byte
	for _, file := range files {
		content, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			return nil, err
		}
		documents = append(documents, bytes.TrimSpace(content))
	}
	return append(bytes.Join(documents, []byte("\n---\n")), '\n'), nil
}

// run executes one command of the build and returns its output; on failure the error ends with what it printed.
func run(ctx context.Context, dir, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, toolEnv()
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // lets go remove its work folder
	cmd.WaitDelay = 5 * time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, errInterrupted
		}
		return nil, fmt.Errorf("%w\n%s", err, indent(lastLines(stderr.String(), 15)))
	}
	return stdout.Bytes(), nil
}
