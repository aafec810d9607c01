package sample

import (
	"path/filepath"
	"testing"
)

func child(t *testing.T) Child {
	t.Helper()
	s := &Sample{Children: []map[string]any{{
		"apiVersion": "v1", "kind": "Service",
		"metadata": map[string]any{"name": Name + "-serve", "namespace": Namespace, "annotations": map[string]any{}},
		"spec":     map[string]any{"selector": map[string]any{NameLabel: Name}, "length": Length},
	}}}
	path := filepath.Join(t.TempDir(), "sample.json")
	if err := s.Save(path); err != nil {
		t.Fatal(err)
	}
	s, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.Child(0)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestTemplateFillsEveryHole(t *testing.T) {
	got := string(child(t).Template.Fill([]byte("> "), Values{Name: "m", UID: "u", Hash: "h", Length: 7}))
	want := `> {"apiVersion":"v1","kind":"Service","metadata":{"annotations":{"inference-operator.dev/applied-hash":"h"},` +
		`"name":"m-serve","namespace":"inference-bench","ownerReferences":[{"apiVersion":"inference-operator.dev/v1alpha1",` +
		`"blockOwnerDeletion":true,"controller":true,"kind":"InferenceDeployment","name":"m","uid":"u"}]},` +
		`"spec":{"length":7,"selector":{"inference-operator.dev/name":"m"}}}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestChildIsNamedAfterItsModel(t *testing.T) {
	if got := child(t).Name("m"); got != "m-serve" {
		t.Error(got)
	}
}

func TestChildRefusesWhatWasNotRenderedForTheSample(t *testing.T) {
	s := &Sample{Children: []map[string]any{{"metadata": map[string]any{"name": "other"}}}}
	if _, err := s.Child(0); err == nil {
		t.Error("no error")
	}
}
