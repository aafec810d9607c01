// Command build writes the image of a program as an archive, and its bill of materials beside it.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"inference-operator.dev/images"
)

// nobody is the user that distributions' minimal images have agreed on.
const nobody = "65532:65532"

func main() {
	program := flag.String("program", "", "file of the program")
	name := flag.String("name", "", "name of the image, with its tag")
	revision := flag.String("revision", "", "commit that the program was built from")
	created := flag.String("created", "", "time of that commit in UTC, as 2026-01-31T12:00:00Z")
	out := flag.String("o", "", "file to write; the bill of materials goes to FILE.spdx.json")
	flag.Parse()
	if *program == "" || *name == "" || *created == "" || *out == "" {
		flag.Usage()
		os.Exit(2)
	}
	if err := build(*program, *name, *revision, *created, *out); err != nil {
		fmt.Fprintf(os.Stderr, "images: %s\n", err)
		os.Exit(1)
	}
}

func build(program, name, revision, created, out string) error {
	title := filepath.Base(program)
	target := "/usr/bin/" + title
	files, err := images.Program(program, target)
	if err != nil {
		return err
	}
	packages, err := images.PackagesOf(files, func(file images.File) bool { return file.Path == target })
	if err != nil {
		return err
	}
	copyrights, err := images.Copyrights(packages)
	if err != nil {
		return err
	}
	bill := images.SBOM(title, strings.Trim(name[strings.LastIndex(name, ":"):], ":"), created, packages)
	files = append(append(files, copyrights...),
		images.File{Path: "/usr/share/sbom/" + title + ".spdx.json", Mode: 0o644, Content: bill},
		images.File{Path: "/etc/passwd", Mode: 0o644, Content: []byte("nonroot:x:65532:65532:nonroot:/:/sbin/nologin\n")},
		images.File{Path: "/etc/group", Mode: 0o644, Content: []byte("nonroot:x:65532:\n")})
	image := images.Image{
		Name: name, Files: files, Entrypoint: []string{target}, User: nobody, Created: created,
		Labels: map[string]string{
			"org.opencontainers.image.title": title, "org.opencontainers.image.revision": revision,
			"org.opencontainers.image.created": created, "org.opencontainers.image.licenses": "Apache-2.0",
		},
	}
	if err := write(image, out); err != nil {
		return err
	}
	return os.WriteFile(out+".spdx.json", bill, 0o644)
}

// write never leaves half an archive under the name.
func write(image images.Image, out string) error {
	partial, err := os.CreateTemp(filepath.Dir(out), filepath.Base(out)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(partial.Name()) // does nothing once it is renamed
	err = image.Write(partial)
	if closed := partial.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return os.Rename(partial.Name(), out)
}
