package images

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Package is a package of the distribution that files of an image come from.
type Package struct {
	Name, Version, Source, SourceVersion string
}

// PackagesOf names the Debian packages that the files were copied from, sorted; own says which belong to none.
func PackagesOf(files []File, own func(File) bool) ([]Package, error) {
	names := map[string]bool{}
	for _, file := range files {
		if file.Source == "" || own(file) {
			continue
		}
		name, err := packageOf(file.Source)
		if err != nil {
			return nil, err
		}
		names[name] = true
	}
	var packages []Package
	for name := range names {
		out, err := exec.Command("dpkg-query", "-W", "-f", "${Package}\t${Version}\t${source:Package}\t${source:Version}", name).Output()
		fields := strings.Split(string(out), "\t")
		if err != nil || len(fields) != 4 {
			return nil, fmt.Errorf("dpkg-query -W %s: %w", name, err)
		}
		packages = append(packages, Package{fields[0], fields[1], fields[2], fields[3]})
	}
	slices.SortFunc(packages, func(a, b Package) int { return strings.Compare(a.Name, b.Name) })
	return packages, nil
}

// packageOf asks under both names that a file has where /lib is a link to /usr/lib: the package manager knows one of them.
func packageOf(file string) (string, error) {
	short := strings.TrimPrefix(file, "/usr")
	for _, each := range []string{"/usr" + short, short} {
		out, err := exec.Command("dpkg-query", "-S", each).Output()
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(out)) {
			name, _, _ := strings.Cut(line, ": ")
			if !strings.HasPrefix(line, "diversion ") && !strings.Contains(name, ",") {
				return name, nil
			}
		}
	}
	return "", fmt.Errorf("no Debian package has %s", file)
}

// Copyrights are the packages' statements of copyright and license, which go where their files go.
func Copyrights(packages []Package) ([]File, error) {
	var files []File
	for _, each := range packages {
		file := filepath.Join("/usr/share/doc", each.Name, "copyright")
		content, err := os.ReadFile(file) // a link in some packages
		if err != nil {
			return nil, err
		}
		files = append(files, File{Path: file, Mode: 0o644, Content: content})
	}
	return files, nil
}

// SBOM lists an image's contents as an SPDX 2.3 document. created is in RFC 3339; a document of the same image is the same.
func SBOM(name, version, created string, packages []Package) []byte {
	contents := []object{{
		"SPDXID": "SPDXRef-operator", "name": name, "versionInfo": version, "downloadLocation": "NOASSERTION",
		"filesAnalyzed": false, "licenseDeclared": "Apache-2.0", "licenseConcluded": "Apache-2.0", "copyrightText": "NOASSERTION",
	}}
	relations := []object{{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-operator"}}
	for _, each := range packages {
		id := "SPDXRef-deb-" + strings.NewReplacer("+", "-", "_", "-").Replace(each.Name)
		contents = append(contents, object{
			"SPDXID": id, "name": each.Name, "versionInfo": each.Version, "downloadLocation": "NOASSERTION", "filesAnalyzed": false,
			"sourceInfo":      "built from the Debian source package " + each.Source + " " + each.SourceVersion,
			"licenseDeclared": "NOASSERTION", "licenseConcluded": "NOASSERTION", "copyrightText": "NOASSERTION",
			"externalRefs": []object{{
				"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
				"referenceLocator": "pkg:deb/debian/" + each.Name + "@" + strings.ReplaceAll(each.Version, "+", "%2B"),
			}},
		})
		relations = append(relations, object{"spdxElementId": "SPDXRef-operator", "relationshipType": "DEPENDS_ON", "relatedSpdxElement": id})
	}
	return append(marshal(object{
		"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": name + "-" + version,
		"documentNamespace": "https://inference-operator.dev/spdx/" + name + "/" + version + "/" + digest(marshal(contents))[:16],
		"creationInfo":      object{"created": created, "creators": []string{"Tool: inference-operator-images"}},
		"packages":          contents, "relationships": relations,
	}), '\n')
}
