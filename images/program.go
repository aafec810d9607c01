package images

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Program is a program with all that it needs to run: its loader and, one by one, the libraries that it asks for.
func Program(source, target string) ([]File, error) {
	files := []File{{Path: target, Mode: 0o755, Source: source}}
	waiting, seen := []string{source}, map[string]bool{}
	for len(waiting) > 0 {
		loader, libraries, err := needs(waiting[0])
		if err != nil {
			return nil, err
		}
		waiting = waiting[1:]
		if loader != "" && !seen[loader] {
			seen[loader] = true
			files = append(files, File{Path: loader, Mode: 0o755, Source: loader})
		}
		for _, library := range libraries {
			if seen[library] {
				continue
			}
			seen[library] = true
			file, err := findLibrary(library)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", source, err)
			}
			files = append(files, File{Path: "/usr/lib/" + library, Mode: 0o755, Source: file})
			waiting = append(waiting, file)
		}
	}
	return files, nil
}

// needs reads from a program or library which loader and which libraries it asks for.
func needs(file string) (loader string, libraries []string, err error) {
	program, err := elf.Open(file)
	if err != nil {
		return "", nil, fmt.Errorf("%s: %w", file, err)
	}
	defer program.Close()
	for _, each := range program.Progs {
		if each.Type == elf.PT_INTERP {
			text := make([]byte, each.Filesz)
			if _, err := each.ReadAt(text, 0); err != nil {
				return "", nil, fmt.Errorf("%s: %w", file, err)
			}
			loader = strings.TrimRight(string(text), "\x00")
		}
	}
	libraries, err = program.ImportedLibraries()
	return loader, slices.DeleteFunc(libraries, func(name string) bool { return strings.HasPrefix(name, "ld-linux") }), err
}

// libraryFolders is where Debian has libraries; each image has them in /usr/lib, where every loader looks.
var libraryFolders = []string{"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu",
	"/usr/lib/aarch64-linux-gnu", "/lib64", "/usr/lib64", "/usr/local/lib", "/usr/lib", "/lib"}

func findLibrary(name string) (string, error) {
	for _, folder := range libraryFolders {
		file := filepath.Join(folder, name)
		if _, err := os.Stat(file); err == nil {
			return file, nil
		} else if !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
	}
	return "", fmt.Errorf("library %s is in none of %s", name, strings.Join(libraryFolders, ", "))
}

// commandsOf a busybox, but not its own name.
func commandsOf(busybox string) ([]string, error) {
	out, err := exec.Command(busybox, "--list").Output()
	if err != nil {
		return nil, fmt.Errorf("%s --list: %w", busybox, err)
	}
	return slices.DeleteFunc(strings.Fields(string(out)), func(name string) bool { return name == "busybox" }), nil
}
