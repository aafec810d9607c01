// Package images writes container images as archives, without a container engine or a registry. The same files give the
// same bytes, whenever and by whomever they are written.
package images

import (
	"archive/tar"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
)

// File is a file, or with Link a symbolic link, of an image.
type File struct {
	Path string // absolute
	Mode int64  // permission bits
	// Content is the file's bytes, unless Source names a file that has them.
	Content []byte
	Source  string
	Link    string
}

// Image is an image of one layer for the platform that this program was built for.
type Image struct {
	Name       string // with registry (or "localhost") and tag
	Files      []File // the folders above them are made; of the same path the first counts
	Entrypoint []string
	Env        []string
	User       string // numeric "user:group"; empty is root
	Labels     map[string]string
	Created    string // RFC 3339; empty: not told
}

// Write writes the image as a tar archive that is an OCI image layout, and what `docker load` takes, in one.
func (i Image) Write(out io.Writer) error {
	layer, err := i.layer()
	if err != nil {
		return err
	}
	config := i.config(digest(layer))
	manifest := marshal(object{
		"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
		"config": descriptor("application/vnd.oci.image.config.v1+json", config),
		"layers": []object{descriptor("application/vnd.oci.image.layer.v1.tar", layer)},
	})
	entry := descriptor("application/vnd.oci.image.manifest.v1+json", manifest)
	entry["platform"] = object{"architecture": runtime.GOARCH, "os": "linux"}
	entry["annotations"] = object{"io.containerd.image.name": i.Name, "org.opencontainers.image.ref.name": tag(i.Name)}
	index := marshal(object{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": []object{entry}})
	docker := marshal([]object{{"Config": blobPath(config), "RepoTags": []string{i.Name}, "Layers": []string{blobPath(layer)}}})
	files := []File{
		{Path: "/" + blobPath(layer), Mode: 0o644, Content: layer}, {Path: "/" + blobPath(config), Mode: 0o644, Content: config},
		{Path: "/" + blobPath(manifest), Mode: 0o644, Content: manifest}, {Path: "/index.json", Mode: 0o644, Content: index},
		{Path: "/manifest.json", Mode: 0o644, Content: docker}, {Path: "/oci-layout", Mode: 0o644, Content: []byte(`{"imageLayoutVersion":"1.0.0"}`)},
	}
	return writeTar(out, files)
}

type object = map[string]any

func (i Image) config(layer string) []byte {
	run := object{}
	for name, list := range map[string][]string{"Entrypoint": i.Entrypoint, "Env": i.Env} {
		if len(list) > 0 {
			run[name] = list
		}
	}
	if i.User != "" {
		run["User"] = i.User
	}
	if len(i.Labels) > 0 {
		run["Labels"] = i.Labels
	}
	config := object{
		"architecture": runtime.GOARCH, "os": "linux", "config": run,
		"rootfs": object{"type": "layers", "diff_ids": []string{"sha256:" + layer}},
	}
	if i.Created != "" {
		config["created"] = i.Created
	}
	return marshal(config)
}

func (i Image) layer() ([]byte, error) {
	var layer bytes.Buffer
	err := writeTar(&layer, i.Files)
	return layer.Bytes(), err
}

// writeTar writes the files in the order of their paths, with the folders above them, all of root and of no time.
func writeTar(out io.Writer, files []File) error {
	sorted := slices.Clone(files)
	slices.SortStableFunc(sorted, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	sorted = slices.CompactFunc(sorted, func(a, b File) bool { return a.Path == b.Path })
	archive := tar.NewWriter(out)
	made := map[string]bool{}
	for _, file := range sorted {
		name := strings.TrimPrefix(path.Clean(file.Path), "/")
		if err := writeFolders(archive, path.Dir(name), made); err != nil {
			return err
		}
		if err := writeFile(archive, name, file); err != nil {
			return fmt.Errorf("%s: %w", file.Path, err)
		}
	}
	return archive.Close()
}

func writeFolders(archive *tar.Writer, folder string, made map[string]bool) error {
	if folder == "." || made[folder] {
		return nil
	}
	if err := writeFolders(archive, path.Dir(folder), made); err != nil {
		return err
	}
	made[folder] = true
	return archive.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: folder + "/", Mode: 0o755, Format: tar.FormatPAX})
}

func writeFile(archive *tar.Writer, name string, file File) error {
	if file.Link != "" {
		return archive.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: file.Link, Mode: 0o777, Format: tar.FormatPAX})
	}
	content := file.Content
	if file.Source != "" {
		var err error
		if content, err = os.ReadFile(file.Source); err != nil {
			return err
		}
	}
	header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: file.Mode, Size: int64(len(content)), Format: tar.FormatPAX}
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	_, err := archive.Write(content)
	return err
}

// Names are those of the images in an archive, whichever of the two kinds it is.
func Names(in io.Reader) ([]string, error) {
	archive := tar.NewReader(in)
	for {
		header, err := archive.Next()
		if err == io.EOF {
			return nil, fmt.Errorf("no image archive: neither manifest.json nor index.json is in it")
		}
		if err != nil {
			return nil, err
		}
		var names []string
		switch header.Name {
		case "manifest.json":
			var list []struct{ RepoTags []string }
			err = json.NewDecoder(archive).Decode(&list)
			for _, each := range list {
				names = append(names, each.RepoTags...)
			}
		case "index.json":
			var index struct {
				Manifests []struct{ Annotations map[string]string }
			}
			err = json.NewDecoder(archive).Decode(&index)
			for _, each := range index.Manifests {
				if name := each.Annotations["io.containerd.image.name"]; name != "" {
					names = append(names, name)
				}
			}
		}
		if err != nil || len(names) > 0 {
			return names, err
		}
	}
}

// Busybox is an image of a static busybox with all its commands in /bin.
func Busybox(name, program string) (Image, error) {
	commands, err := commandsOf(program)
	image := Image{Name: name, Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin"}}
	image.Files = append(image.Files, File{Path: "/bin/busybox", Mode: 0o755, Source: program},
		File{Path: "/etc/passwd", Mode: 0o644, Content: []byte("root:x:0:0:root:/:/bin/sh\n")})
	for _, each := range commands {
		image.Files = append(image.Files, File{Path: "/bin/" + each, Link: "busybox"})
	}
	return image, err
}

func descriptor(mediaType string, content []byte) object {
	return object{"mediaType": mediaType, "digest": "sha256:" + digest(content), "size": len(content)}
}

func blobPath(content []byte) string { return "blobs/sha256/" + digest(content) }

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// marshal of maps sorts their keys.
func marshal(value any) []byte {
	content, _ := json.Marshal(value) // cannot fail: maps, lists and texts
	return content
}

func tag(name string) string { return name[strings.LastIndexByte(name, ':')+1:] }
