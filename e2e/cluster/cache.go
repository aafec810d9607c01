package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// buildRecipe is what else decides the bytes of a binary. Static binaries run in any network or mount namespace and do
// not depend on the C library of the machine that shares the cache.
var buildRecipe = []string{"CGO_ENABLED=0", "-trimpath", stripFlags}

// cacheKey names the cache folder: same inputs, same binaries. It covers the go.mod and go.sum of every tool module (and
// the sources of our own), the list of programs and manifests, the recipe and the Go toolchain.
func (k kit) cacheKey(tools, goVersion string) (string, error) {
	hash := sha256.New()
	fmt.Fprintf(hash, "%s\n%q\n%q\n%q\n", goVersion, buildRecipe, k.programs, k.manifests)
	for _, each := range k.edits {
		fmt.Fprintf(hash, "%q\n", each)
	}
	for _, module := range k.toolModules() {
		sources, err := filepath.Glob(filepath.Join(tools, module, "*.go")) // a program of our own
		if err != nil {
			return "", err
		}
		for _, file := range append([]string{"go.mod", "go.sum"}, baseNames(sources)...) {
			content, err := os.ReadFile(filepath.Join(tools, module, file))
			if err != nil {
				return "", err
			}
			fmt.Fprintf(hash, "%s/%s %d\n", module, file, len(content))
			hash.Write(content)
		}
	}
	return hex.EncodeToString(hash.Sum(nil))[:16], nil
}

func baseNames(files []string) []string {
	names := []string{}
	for _, file := range files {
		names = append(names, filepath.Base(file))
	}
	return names
}

// toolchain is the Go release and target that will build the programs, e.g. "go1.26.8 linux amd64".
func toolchain(dir string) (string, error) {
	cmd := exec.Command("go", "env", "GOVERSION", "GOOS", "GOARCH", "GOAMD64")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go env: %w (is Go installed?)", err)
	}
	return strings.Join(strings.Fields(string(out)), " "), nil
}

// binFolder is the folder with the kit's programs: override when given, else keyed below the user's cache folder.
func (k kit) binFolder(root, override string) (string, error) {
	if override != "" {
		return filepath.Abs(override)
	}
	version, err := toolchain(toolsDir(root))
	if err != nil {
		return "", err
	}
	key, err := k.cacheKey(toolsDir(root), version)
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir() // $XDG_CACHE_HOME, else $HOME/.cache
	if err != nil {
		return "", err
	}
	return filepath.Join(cache, "inference-operator", "bin", key), nil
}

// missingFrom lists what `build` still has to make in a cache folder. Files get there by rename, so one that is there is whole.
func (k kit) missingFrom(bin string) []string {
	var missing []string
	for _, p := range k.programs {
		if info, err := os.Stat(filepath.Join(bin, p.name)); err != nil || info.Size() == 0 {
			missing = append(missing, p.name)
		}
	}
	for _, m := range k.manifests {
		if info, err := os.Stat(filepath.Join(bin, m.name)); err != nil || info.Size() == 0 {
			missing = append(missing, m.name)
		}
	}
	return missing
}

func sorted(names []string) []string {
	slices.Sort(names)
	return names
}
