package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestQuantileIsAMeasuredValue(t *testing.T) {
	sorted := []float64{1, 2, 3, 4}
	for q, want := range map[float64]float64{0.5: 2, 0.99: 4, 1: 4} {
		if got := quantile(sorted, q); got != want {
			t.Errorf("quantile %v is %v, want %v", q, got, want)
		}
	}
}

func TestRatioComparesWithinARound(t *testing.T) {
	r := results{
		"operator": {{"s": 1}, {"s": 20}, {"s": 3}},
		"raw":      {{"s": 1}, {"s": 10}, {"s": 1}},
	}
	if got := r.ratio("s", "operator", "raw"); got != 2 {
		t.Errorf("the ratio is %v", got)
	}
}

func TestMethodKnowsBothWaysToTellAVerb(t *testing.T) {
	for labels, want := range map[string]string{
		`code="200",verb="watch"}`:                          "GET",
		`code="200",verb="patch"}`:                          "PATCH",
		`code="201",host="127.0.0.1:6443",method="POST"}`:   "POST",
		`code="201",verb="create"}`:                         "POST",
		`code="404",host="127.0.0.1:6443",method="DELETE"}`: "DELETE",
	} {
		if got := methodOf(labels); got != want {
			t.Errorf("%s is %q, want %q", labels, got, want)
		}
	}
}

func line(resource, name, at string) string {
	return `{"verb":"patch","objectRef":{"resource":"` + resource + `","namespace":"inference-bench","name":"` + name +
		`"},"responseStatus":{"code":200},"stageTimestamp":"2026-01-01T00:00:` + at + `Z"}` + "\n"
}

// The log is read while it is written: the last line may be a part of one.
func TestAuditReadsOnlyWholeLinesThatCameLater(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	log, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	put := func(text string) {
		if _, err := log.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	put(line("services", "before", "01"))
	a, err := openAudit(path)
	if err != nil {
		t.Fatal(err)
	}
	defer a.close()
	whole := line("services", "b", "03")
	put(line("services", "a", "02") + whole[:20])
	count := func(want int) {
		t.Helper()
		if err := a.read(); err != nil {
			t.Fatal(err)
		}
		if len(a.writes) != want {
			t.Fatalf("%d writes, want %d", len(a.writes), want)
		}
	}
	count(1)
	put(whole[20:])
	count(2)
	if w := a.writes[1]; w.ObjectRef.Name != "b" || !w.StageTimestamp.Equal(time.Date(2026, 1, 1, 0, 0, 3, 0, time.UTC)) {
		t.Errorf("%+v", w)
	}
}

func TestConvergenceEndsWithTheLastObjectAndNotWithItsRepetition(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := openAudit(path)
	if err != nil {
		t.Fatal(err)
	}
	defer a.close()
	text := line("services", "m", "01") + line("inferencedeployments", "m", "02") + line("inferencedeployments", "m", "09")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	end, writes, err := a.awaitModels(t.Context(), 1, 1, 0, func() error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	if end.Second() != 2 || len(writes) != 3 {
		t.Errorf("ended at %v with %d writes", end, len(writes))
	}
}
