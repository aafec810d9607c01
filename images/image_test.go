package images

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func write(t *testing.T, image Image) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := image.Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// entries of a tar archive by their names, in their order.
func entries(t *testing.T, archive []byte) (names []string, content map[string][]byte, headers map[string]*tar.Header) {
	t.Helper()
	content, headers = map[string][]byte{}, map[string]*tar.Header{}
	for reader := tar.NewReader(bytes.NewReader(archive)); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return names, content, headers
		}
		if err != nil {
			t.Fatal(err)
		}
		if content[header.Name], err = io.ReadAll(reader); err != nil {
			t.Fatal(err)
		}
		names, headers[header.Name] = append(names, header.Name), header
	}
}

var sample = Image{
	Name: "localhost/sample:1", Entrypoint: []string{"/bin/a"}, User: "65532:65532", Labels: map[string]string{"b": "1", "a": "2"},
	Files: []File{{Path: "/bin/b", Link: "a"}, {Path: "/bin/a", Mode: 0o755, Content: []byte("program")}},
}

func TestTheSameFilesGiveTheSameBytesInWhateverOrder(t *testing.T) {
	first := write(t, sample)
	other := sample
	other.Files = []File{sample.Files[1], sample.Files[0], {Path: "/bin/a", Mode: 0o600, Content: []byte("a second of the same path")}}
	if !bytes.Equal(first, write(t, other)) {
		t.Error("the archives differ")
	}
	source := filepath.Join(t.TempDir(), "a")
	if err := os.WriteFile(source, []byte("program"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(source, time.Now(), time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	other.Files = []File{{Path: "/bin/b", Link: "a"}, {Path: "/bin/a", Mode: 0o755, Source: source}}
	if !bytes.Equal(first, write(t, other)) {
		t.Error("the file's own time or mode is in the archive")
	}
}

func TestBothKindsOfReadersFindTheImage(t *testing.T) {
	_, content, _ := entries(t, write(t, sample))
	var index struct {
		Manifests []struct{ Digest string }
	}
	var manifest struct {
		Config struct{ Digest string }
		Layers []struct {
			Digest string
			Size   int
		}
	}
	var config struct {
		Config struct{ User string }
		Rootfs struct {
			DiffIDs []string `json:"diff_ids"`
		}
	}
	var docker []struct {
		Config   string
		RepoTags []string
		Layers   []string
	}
	blob := func(digest string) []byte { return content["blobs/sha256/"+strings.TrimPrefix(digest, "sha256:")] }
	decode := func(content []byte, into any) {
		t.Helper()
		if err := json.Unmarshal(content, into); err != nil {
			t.Fatal(err)
		}
	}
	decode(content["index.json"], &index)
	decode(blob(index.Manifests[0].Digest), &manifest)
	decode(blob(manifest.Config.Digest), &config)
	decode(content["manifest.json"], &docker)
	if config.Config.User != "65532:65532" || config.Rootfs.DiffIDs[0] != manifest.Layers[0].Digest {
		t.Errorf("config %+v", config)
	}
	if len(blob(manifest.Layers[0].Digest)) != manifest.Layers[0].Size || len(content[docker[0].Layers[0]]) != manifest.Layers[0].Size {
		t.Errorf("layer %+v", manifest.Layers[0])
	}
	if !slices.Equal(docker[0].RepoTags, []string{sample.Name}) || content[docker[0].Config] == nil {
		t.Errorf("for docker: %+v", docker)
	}
	names, _, headers := entries(t, blob(manifest.Layers[0].Digest))
	if !slices.Equal(names, []string{"bin/", "bin/a", "bin/b"}) || headers["bin/b"].Linkname != "a" || headers["bin/a"].Mode != 0o755 {
		t.Errorf("layer holds %v", names)
	}
}

func TestNamesAreReadFromEitherKind(t *testing.T) {
	if names, err := Names(bytes.NewReader(write(t, sample))); err != nil || !slices.Equal(names, []string{sample.Name}) {
		t.Errorf("%v, %v", names, err)
	}
	var docker bytes.Buffer
	if err := writeTar(&docker, []File{{Path: "/manifest.json", Content: []byte(`[{"RepoTags":["a:1","b:2"]}]`)}}); err != nil {
		t.Fatal(err)
	}
	if names, err := Names(&docker); err != nil || !slices.Equal(names, []string{"a:1", "b:2"}) {
		t.Errorf("%v, %v", names, err)
	}
	for _, wrong := range []string{"", "no tar", strings.Repeat("x", 2000)} {
		if names, err := Names(strings.NewReader(wrong)); err == nil {
			t.Errorf("%q has names %v", wrong, names)
		}
	}
}

func TestAProgramComesWithItsLoaderAndItsLibraries(t *testing.T) {
	files, err := Program("/bin/sh", "/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, each := range files {
		paths = append(paths, each.Path)
		if _, err := os.Stat(each.Source); err != nil {
			t.Error(err)
		}
	}
	has := func(part string) bool {
		return slices.ContainsFunc(paths, func(path string) bool { return strings.Contains(path, part) })
	}
	if paths[0] != "/bin/sh" || !has("/ld-") || !has("/usr/lib/libc.so") {
		t.Errorf("files %v", paths)
	}
	if _, err := Program("/etc/passwd", "/x"); err == nil {
		t.Error("a text is taken for a program")
	}
}
