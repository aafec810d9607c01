// Package sample holds what the operator makes of one InferenceDeployment, so that the peer and the raw writer can write
// the same for any other: it is rendered once, with tokens in the places that differ.
package sample

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// The tokens. Each is found in a rendered object only where the value that it stands for is.
const (
	Namespace = "inference-bench" // a constant: all models of the benchmark live there
	Name      = "model-token"
	UID       = "00000000-token-0000-0000-000000000000"
	Length    = 1234567891 // spec.serving.maxModelLen, the field that the benchmark changes
	hash      = "token-of-the-hash"
)

// The names that the operator gives; the peer does as it does.
const (
	Group          = "inference-operator.dev"
	Version        = "v1alpha1"
	Kind           = "InferenceDeployment"
	FieldManager   = "inference-operator"
	NameLabel      = Group + "/name"
	HashAnnotation = Group + "/applied-hash"
	ManagedByLabel = "app.kubernetes.io/managed-by"
	ManagedBy      = "inference-operator"
)

// Model is an InferenceDeployment of the benchmark. It is suspended: its children exist and no pods do, so that only the
// API server works beside the operator.
func Model(name string, length int) map[string]any {
	return map[string]any{
		"apiVersion": Group + "/" + Version,
		"kind":       Kind,
		"metadata":   map[string]any{"name": name, "namespace": Namespace},
		"spec": map[string]any{
			"model":       map[string]any{"uri": "file:///models/m"},
			"parallelism": map[string]any{"tensor": int64(8)},
			"replicas":    int64(2),
			"serving":     map[string]any{"maxModelLen": int64(length)},
			"suspend":     true,
		},
	}
}

// Sample is what stands in the file.
type Sample struct {
	Children []map[string]any `json:"children"` // as `kubectl-inference render` prints them, in the order of writing
	Status   map[string]any   `json:"status"`   // as the operator writes it once the children are applied
}

// Load reads a file that Save wrote.
func Load(path string) (*Sample, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var s Sample
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &s, nil
}

// Save writes the sample to a file.
func (s *Sample) Save(path string) error {
	data, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}

// Values fill a template's holes.
type Values struct {
	Name, UID, Hash string
	Length          int64
}

// Template is JSON with holes.
type Template struct {
	text  [][]byte // one more than holes
	holes []func(Values) string
}

var holes = []struct {
	token string
	value func(Values) string
}{
	{Name, func(v Values) string { return v.Name }},
	{UID, func(v Values) string { return v.UID }},
	{hash, func(v Values) string { return v.Hash }},
	{strconv.Itoa(Length), func(v Values) string { return strconv.FormatInt(v.Length, 10) }},
}

// NewTemplate finds the tokens in an object.
func NewTemplate(object any) (Template, error) {
	rest, err := json.Marshal(object)
	if err != nil {
		return Template{}, err
	}
	var t Template
	for {
		at, found := len(rest), -1
		for index, hole := range holes {
			if here := bytes.Index(rest, []byte(hole.token)); here >= 0 && here < at {
				at, found = here, index
			}
		}
		t.text = append(t.text, rest[:at])
		if found < 0 {
			return t, nil
		}
		t.holes = append(t.holes, holes[found].value)
		rest = rest[at+len(holes[found].token):]
	}
}

// Fill appends the template's text with these values to `to`.
func (t Template) Fill(to []byte, values Values) []byte {
	for index, hole := range t.holes {
		to = append(append(to, t.text[index]...), hole(values)...)
	}
	return append(to, t.text[len(t.text)-1]...)
}

// Child is one object that is written for each model.
type Child struct {
	APIVersion, Kind string
	Template         Template
	nameSuffix       string
}

// Name of the child of a model.
func (c Child) Name(model string) string { return model + c.nameSuffix }

// Child makes a rendered object one that is applied: owned by the model, and with the hash of the rest.
func (s *Sample) Child(index int) (Child, error) {
	object := s.Children[index]
	metadata, _ := object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	name, _ := metadata["name"].(string)
	if annotations == nil || !strings.HasPrefix(name, Name) || metadata["namespace"] != Namespace {
		return Child{}, fmt.Errorf("child %d of the sample is not what a model named %s gets", index, Name)
	}
	metadata["ownerReferences"] = []any{map[string]any{
		"apiVersion": Group + "/" + Version, "kind": Kind, "name": Name, "uid": UID, "controller": true, "blockOwnerDeletion": true,
	}}
	annotations[HashAnnotation] = hash
	template, err := NewTemplate(object)
	return Child{
		APIVersion: object["apiVersion"].(string), Kind: object["kind"].(string),
		Template: template, nameSuffix: strings.TrimPrefix(name, Name),
	}, err
}

// StatusBody is the body of the write of a model's first status.
func (s *Sample) StatusBody() (Template, error) {
	return NewTemplate(map[string]any{
		"apiVersion": Group + "/" + Version, "kind": Kind,
		"metadata": map[string]any{"name": Name, "namespace": Namespace, "uid": UID},
		"status":   s.Status,
	})
}
