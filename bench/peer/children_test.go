package main

import (
	"encoding/json"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"inference-operator.dev/bench/sample"
)

const renderedDeployment = `{
  "apiVersion": "apps/v1", "kind": "Deployment",
  "metadata": {"name": "model-token", "namespace": "inference-bench", "annotations": {}, "labels": {"inference-operator.dev/name": "model-token"}},
  "spec": {
    "replicas": 0, "selector": {"matchLabels": {"inference-operator.dev/name": "model-token"}},
    "template": {
      "metadata": {"labels": {"inference-operator.dev/name": "model-token"}},
      "spec": {
        "containers": [{
          "name": "engine", "image": "engine:1", "args": ["--served-model-name", "model-token", "--max-model-len", "1234567891"],
          "livenessProbe": {"httpGet": {"path": "/health", "port": 8000}, "failureThreshold": 3},
          "resources": {"limits": {"memory": "1024Mi"}}
        }],
        "volumes": [{"name": "drain-hook", "configMap": {"name": "model-token-drain"}}]
      }
    }
  }
}`

// wantedAndLive are what is rendered for a model, and what the API server makes of it: with its defaults.
func wantedAndLive(t *testing.T) (child, *appsv1.Deployment) {
	t.Helper()
	var object map[string]any
	if err := json.Unmarshal([]byte(renderedDeployment), &object); err != nil {
		t.Fatal(err)
	}
	kinds, err := loadChildren(&sample.Sample{Children: []map[string]any{object}})
	if err != nil {
		t.Fatal(err)
	}
	model := &InferenceDeployment{}
	model.Name, model.UID, model.Spec.Serving.MaxModelLen = "m", "uid", 4096
	wanted := kinds[0].render(model)
	live := &appsv1.Deployment{}
	if err := json.Unmarshal(wanted.body, live); err != nil {
		t.Fatal(err)
	}
	live.Spec.RevisionHistoryLimit = ptr.To[int32](10)
	pod := &live.Spec.Template.Spec
	pod.RestartPolicy = corev1.RestartPolicyAlways
	pod.Volumes[0].ConfigMap.DefaultMode = ptr.To[int32](420)
	probe := pod.Containers[0].LivenessProbe
	probe.SuccessThreshold, probe.HTTPGet.Scheme = 1, corev1.URISchemeHTTP
	return wanted, live
}

func TestDefaultsOfTheAPIServerAreNoDifference(t *testing.T) {
	wanted, live := wantedAndLive(t)
	if !wanted.isCarriedBy(live) {
		t.Error("it would be written again and again")
	}
}

func TestWhatOthersChangedIsADifference(t *testing.T) {
	for what, change := range map[string]func(*appsv1.Deployment){
		"an argument":     func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Args[3] = "1" },
		"a label":         func(d *appsv1.Deployment) { delete(d.Labels, sample.NameLabel) },
		"the owner":       func(d *appsv1.Deployment) { d.OwnerReferences = nil },
		"a volume":        func(d *appsv1.Deployment) { d.Spec.Template.Spec.Volumes = nil },
		"an earlier hash": func(d *appsv1.Deployment) { d.Annotations[sample.HashAnnotation] = "earlier" },
	} {
		wanted, live := wantedAndLive(t)
		change(live)
		if wanted.isCarriedBy(live) {
			t.Errorf("%s was not noticed", what)
		}
	}
}

func TestAStatusIsNotWrittenTwiceWhileTheCacheIsBehind(t *testing.T) {
	var w written
	model := &InferenceDeployment{}
	model.UID, model.ResourceVersion = "uid", "5"
	if w.covers(model, []byte("a")) {
		t.Error("nothing was written yet")
	}
	if err := w.remember("uid", []byte("a"), []byte(`{"metadata":{"resourceVersion":"10"}}`)); err != nil {
		t.Fatal(err)
	}
	if !w.covers(model, []byte("a")) || w.covers(model, []byte("b")) {
		t.Error("only the very status that was written is covered")
	}
	if model.ResourceVersion = "10"; w.covers(model, []byte("a")) {
		t.Error("the cache shows it, so someone changed it since")
	}
}
