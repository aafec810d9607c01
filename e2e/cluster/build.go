package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// buildMissing makes the programs and manifests that bin lacks. It may run twice at once: the second waits for the first
// and then finds everything there. Each file is built under a temporary name and renamed, so that an interrupted build
// leaves no half a binary behind. kubectl, which turns manifests into JSON, is that of the base kit.
func (k kit) buildMissing(ctx context.Context, root, bin, kubectl string, say *progress) error {
	if len(k.missingFrom(bin)) == 0 {
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

	leftovers, _ := filepath.Glob(filepath.Join(bin, "*"+temporarySuffix+"*"))
	for _, file := range leftovers { // of a killed build: its lock is gone, so nobody writes them
		os.Remove(file)
	}
	missing := k.missingFrom(bin)
	for _, p := range k.programs {
		if !slices.Contains(missing, p.name) {
			continue
		}
		if err := say.step("built "+p.name, func() error { return k.buildProgram(ctx, root, bin, p) }); err != nil {
			return err
		}
	}
	for _, m := range k.manifests {
		if !slices.Contains(missing, m.name) {
			continue
		}
		if err := say.step("copied "+m.name, func() error { return copyManifest(ctx, root, bin, kubectl, m) }); err != nil {
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

func (k kit) buildProgram(ctx context.Context, root, bin string, p program) error {
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
	source := p.pkg
	for _, each := range k.edits {
		if each.program == p.name {
			if source, err = each.write(ctx, dir, temporary+".go"); err != nil {
				return fmt.Errorf("build %s: %w", p.name, err)
			}
		}
	}
	if _, err := run(ctx, dir, "go", "build", "-trimpath", "-ldflags", flags, "-o", temporary, source); err != nil {
		return fmt.Errorf("build %s: %w", p.name, err)
	}
	return errors.Join(os.Rename(temporary, filepath.Join(bin, p.name)), removeIfThere(temporary+".go"))
}

// write makes the edited file, which is all of its package, and answers with its path. The module cache itself can't be
// edited, not even by an overlay.
func (e edit) write(ctx context.Context, dir, path string) (string, error) {
	module, err := moduleFolder(ctx, dir, e.upstream)
	if err != nil {
		return "", err
	}
	content, err := os.ReadFile(filepath.Join(module, e.file))
	if err != nil {
		return "", err
	}
	if found := strings.Count(string(content), e.old); found != 1 {
		return "", fmt.Errorf("%s of %s stands in %s %d times, not once", e.old, e.upstream, e.file, found)
	}
	return path, os.WriteFile(path, []byte(strings.Replace(string(content), e.old, e.new, 1)), 0o644)
}

func removeIfThere(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// moduleFolder is where the sources of an upstream module lie, in the version that the tool module in dir requires.
func moduleFolder(ctx context.Context, dir, upstream string) (string, error) {
	out, err := run(ctx, dir, "go", "mod", "download", "-json", upstream)
	if err != nil {
		return "", fmt.Errorf("locate %s: %w", upstream, err)
	}
	source, err := jsonField(out, "Dir")
	if err != nil {
		return "", fmt.Errorf("locate %s: %w", upstream, err)
	}
	return source, nil
}

// copyManifest joins the sources into one file; .json ones are converted by kubectl, which needs no server for that.
func copyManifest(ctx context.Context, root, bin, kubectl string, m manifest) error {
	dir := filepath.Join(toolsDir(root), m.module)
	source, err := moduleFolder(ctx, dir, m.upstream)
	if err != nil {
		return err
	}
	var content []byte
	if strings.HasSuffix(m.name, ".json") {
		args := []string{"annotate", "--local", "-o", "json", "none-"} // removing an annotation that is not there: a pure conversion
		for _, file := range m.sources {
			args = append(args, "-f", filepath.Join(source, file))
		}
		content, err = run(ctx, dir, kubectl, args...)
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
