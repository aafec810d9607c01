package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func writeTools(t *testing.T) string {
	t.Helper()
	tools := t.TempDir()
	for _, module := range base.toolModules() {
		if err := os.Mkdir(filepath.Join(tools, module), 0o755); err != nil {
			t.Fatal(err)
		}
		for _, file := range []string{"go.mod", "go.sum"} {
			if err := os.WriteFile(filepath.Join(tools, module, file), []byte(module+file), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	return tools
}

func mustKey(t *testing.T, tools, version string) string {
	t.Helper()
	key, err := base.cacheKey(tools, version)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestTheKeyChangesWithEveryInputAndWithNothingElse(t *testing.T) {
	tools := writeTools(t)
	before := mustKey(t, tools, "go1")
	if again := mustKey(t, writeTools(t), "go1"); again != before {
		t.Errorf("equal modules in another folder: %s and %s", before, again)
	}
	if other := mustKey(t, tools, "go2"); other == before {
		t.Error("another Go has the same key")
	}
	for _, module := range base.toolModules() {
		for _, file := range []string{"go.mod", "go.sum"} {
			path := filepath.Join(tools, module, file)
			old := mustKey(t, tools, "go1")
			if err := os.WriteFile(path, []byte("changed"), 0o644); err != nil {
				t.Fatal(err)
			}
			if mustKey(t, tools, "go1") == old {
				t.Errorf("a change of %s/%s keeps the key", module, file)
			}
		}
	}
	before = mustKey(t, tools, "go1")
	writeFiles(t, filepath.Join(tools, "etcd"), map[string]string{"main.go": "package main"})
	if mustKey(t, tools, "go1") == before {
		t.Error("a source of our own keeps the key")
	}
	if err := os.Remove(filepath.Join(tools, "lws", "go.sum")); err != nil {
		t.Fatal(err)
	}
	if _, err := base.cacheKey(tools, "go1"); err == nil {
		t.Error("a key without go.sum")
	}
}

func TestHalfABuildIsMissingWhatItLacks(t *testing.T) {
	bin := t.TempDir()
	total := len(programs) + len(manifests)
	if got := base.missingFrom(bin); len(got) != total {
		t.Fatalf("an empty folder misses %v", got)
	}
	write := func(name, content string) {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write("kubectl", "program")
	write("etcd", "")                      // a full disk
	write("kwok"+temporarySuffix, "half ") // a killed build
	got := base.missingFrom(bin)
	if len(got) != total-1 || slices.Contains(got, "kubectl") || !slices.Contains(got, "etcd") || !slices.Contains(got, "kwok") {
		t.Errorf("missing: %v", got)
	}
}

// The real tool modules: each program's package has to be among the tools of its module, and the stamp has to be found.
func TestEveryProgramIsAToolOfItsModule(t *testing.T) {
	all := slices.Clone(programs)
	for _, each := range addOns {
		all = append(all, each.programs...)
	}
	for _, p := range all {
		content, err := os.ReadFile(filepath.Join("tools", p.module, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		own := strings.HasPrefix(p.pkg, "inference-operator.dev/") // its module is the program
		if !own && !strings.Contains(string(content), p.pkg+"\n") {
			t.Errorf("tools/%s/go.mod has no tool %s", p.module, p.pkg)
		}
		flags, err := linkerFlags(p, string(content))
		if err != nil {
			t.Error(err)
		}
		if p.ldflags != "" && !strings.Contains(flags, "gitVersion=v1.37.2 -X k8s.io/component-base/version.gitMajor=1 ") {
			t.Errorf("%s is stamped with %s", p.name, flags)
		}
	}
}

func TestTheRequiredVersionIsNotTakenFromAReplacement(t *testing.T) {
	goMod := "require a.b/c v1.2.3\nreplace (\n\tx.y/z => x.y/z v0.1.0\n)\nrequire (\n\tx.y/z v9.9.9 // indirect\n)\n"
	for module, want := range map[string]string{"a.b/c": "v1.2.3", "x.y/z": "v9.9.9", "absent": ""} {
		if got, _ := requiredVersion(goMod, module); got != want {
			t.Errorf("%s: got %q, want %q", module, got, want)
		}
	}
}
