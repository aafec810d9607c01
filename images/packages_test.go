package images

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

func TestEachPackageIsListedOnceWithWhatItWasBuiltFrom(t *testing.T) {
	files, err := Program("/bin/sh", "/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("/var/lib/dpkg/status"); err != nil {
		t.Skip("no Debian: ", err)
	}
	packages, err := PackagesOf(files, func(File) bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	libraries := 0
	for _, each := range packages {
		if each.Name == "libc6" && each.Version != "" && each.Source == "glibc" {
			libraries++
		}
	}
	if libraries != 1 {
		t.Errorf("packages %v", packages)
	}
	copyrights, err := Copyrights(packages)
	if err != nil || len(copyrights) != len(packages) || len(copyrights[0].Content) == 0 {
		t.Errorf("copyrights %v, %v", copyrights, err)
	}
	if _, err := PackagesOf([]File{{Source: "/no/such/library.so"}}, func(File) bool { return false }); err == nil {
		t.Error("a file of no package was passed over")
	}
}

func TestABillOfMaterialsNamesWhatItDescribes(t *testing.T) {
	packages := []Package{{"libstdc++6", "12.2.0-14+deb12u1", "gcc-12", "12.2.0-14+deb12u1"}}
	bill := SBOM("operator", "dev", "2026-01-31T12:00:00Z", packages)
	if !bytes.Equal(bill, SBOM("operator", "dev", "2026-01-31T12:00:00Z", packages)) {
		t.Error("the same contents give two documents")
	}
	var document struct {
		DocumentNamespace string
		Packages          []struct{ SPDXID, Name string }
		Relationships     []struct{ SpdxElementID, RelatedSpdxElement string }
	}
	if err := json.Unmarshal(bill, &document); err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{"SPDXRef-DOCUMENT": true}
	for _, each := range document.Packages {
		known[each.SPDXID] = true
		if strings.ContainsAny(each.SPDXID, "+_ ") { // letters, digits, dots and dashes, says SPDX
			t.Errorf("%s is no identifier", each.SPDXID)
		}
	}
	for _, each := range document.Relationships {
		if !known[each.SpdxElementID] || !known[each.RelatedSpdxElement] {
			t.Errorf("%+v names nothing of this document", each)
		}
	}
	if len(document.Packages) != 2 || len(document.Relationships) != 2 {
		t.Errorf("%s", bill)
	}
	if other := SBOM("operator", "dev", "2026-01-31T12:00:00Z", nil); bytes.Contains(other, []byte(document.DocumentNamespace)) {
		t.Error("two documents have one name")
	}
}
