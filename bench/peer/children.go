package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"inference-operator.dev/bench/sample"
)

// childKind is a kind of child that every model of the benchmark gets.
type childKind struct {
	sample.Child
	example client.Object // as rendered for the sample
	blank   func() client.Object
	// named gives a copy of the example the names and values of a model.
	named func(example client.Object, v sample.Values) client.Object
	// carries says whether the live object has all that is wanted; what it has beyond that are defaults and others' fields.
	carries func(live, wanted client.Object) bool
}

// child is one object as it is to be.
type child struct {
	kind *childKind
	name string
	hash string
	body []byte // of the server-side apply
	v    sample.Values
}

func loadChildren(s *sample.Sample) ([]childKind, error) {
	var kinds []childKind
	for index, object := range s.Children {
		template, err := s.Child(index)
		if err != nil {
			return nil, err
		}
		kind := childKind{Child: template}
		switch template.APIVersion + "/" + template.Kind {
		case "v1/ConfigMap":
			kind.blank, kind.named, kind.carries = func() client.Object { return &corev1.ConfigMap{} }, nameConfigMap, carriesConfigMap
		case "v1/Service":
			kind.blank, kind.named, kind.carries = func() client.Object { return &corev1.Service{} }, nameService, carriesService
		case "apps/v1/Deployment":
			kind.blank, kind.named, kind.carries = func() client.Object { return &appsv1.Deployment{} }, nameDeployment, carriesDeployment
		default:
			return nil, fmt.Errorf("the sample has a %s, which this operator does not know", template.Kind)
		}
		kind.example = kind.blank()
		data, err := json.Marshal(object)
		if err == nil {
			err = json.Unmarshal(data, kind.example)
		}
		if err == nil {
			err = kind.check()
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", template.Kind, err)
		}
		if deployment, is := kind.example.(*appsv1.Deployment); is {
			setDefaults(&deployment.Spec.Template.Spec)
		}
		kinds = append(kinds, kind)
	}
	return kinds, nil
}

// check proves that the typed object is the one whose bytes are applied.
func (k *childKind) check() error {
	v := sample.Values{Name: "other", UID: "uid", Hash: "hash", Length: 7}
	read := k.blank()
	if err := json.Unmarshal(k.Template.Fill(nil, v), read); err != nil {
		return err
	}
	if typed := k.named(k.example, v); !equality.Semantic.DeepEqual(read, typed) {
		return fmt.Errorf("a name in it was not found")
	}
	return nil
}

// setDefaults gives the wanted pod what the API server gives the stored one: the comparison takes absent strings, pointers
// and lists for "anything", but a number that is 0 for 0.
func setDefaults(pod *corev1.PodSpec) {
	for i := range pod.Containers {
		c := &pod.Containers[i]
		for _, probe := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
			if probe != nil && probe.SuccessThreshold == 0 {
				probe.SuccessThreshold = 1
			}
		}
	}
}

// render fills one child's template for a model; the hash is of the whole but for itself.
func (k *childKind) render(model *InferenceDeployment) child {
	v := sample.Values{Name: model.Name, UID: string(model.UID), Length: model.Spec.Serving.MaxModelLen}
	buffer := k.Template.Fill(make([]byte, 0, 16*1024), v)
	sum := sha256.Sum256(buffer)
	v.Hash = hex.EncodeToString(sum[:])
	return child{kind: k, name: k.Name(model.Name), hash: v.Hash, body: k.Template.Fill(buffer[:0], v), v: v}
}

// isCarriedBy says whether the live object needs no write. The hash tells of fields that are no longer wanted, the
// comparison of those that others changed.
func (c *child) isCarriedBy(live client.Object) bool {
	if live.GetAnnotations()[sample.HashAnnotation] != c.hash {
		return false
	}
	wanted := c.kind.named(c.kind.example, c.v)
	return equality.Semantic.DeepDerivative(wanted.GetLabels(), live.GetLabels()) &&
		equality.Semantic.DeepDerivative(wanted.GetAnnotations(), live.GetAnnotations()) &&
		equality.Semantic.DeepDerivative(wanted.GetOwnerReferences(), live.GetOwnerReferences()) &&
		c.kind.carries(live, wanted)
}

func rename(text string, v sample.Values) string {
	return strings.ReplaceAll(text, sample.Name, v.Name)
}

func nameMeta(m *metav1.ObjectMeta, v sample.Values) {
	m.Name = rename(m.Name, v)
	m.Labels[sample.NameLabel] = v.Name
	m.Annotations[sample.HashAnnotation] = v.Hash
	m.OwnerReferences[0].Name, m.OwnerReferences[0].UID = v.Name, types.UID(v.UID)
}

func nameConfigMap(example client.Object, v sample.Values) client.Object {
	source := example.(*corev1.ConfigMap)
	wanted := &corev1.ConfigMap{TypeMeta: source.TypeMeta, Data: source.Data} // the script is the same for all
	source.ObjectMeta.DeepCopyInto(&wanted.ObjectMeta)
	nameMeta(&wanted.ObjectMeta, v)
	return wanted
}

func nameService(example client.Object, v sample.Values) client.Object {
	wanted := example.(*corev1.Service).DeepCopy()
	nameMeta(&wanted.ObjectMeta, v)
	wanted.Spec.Selector[sample.NameLabel] = v.Name
	return wanted
}

func nameDeployment(example client.Object, v sample.Values) client.Object {
	wanted := example.(*appsv1.Deployment).DeepCopy()
	nameMeta(&wanted.ObjectMeta, v)
	wanted.Spec.Selector.MatchLabels[sample.NameLabel] = v.Name
	wanted.Spec.Template.Labels[sample.NameLabel] = v.Name
	pod := &wanted.Spec.Template.Spec
	args := pod.Containers[0].Args
	for i := range args {
		if args[i] == strconv.Itoa(sample.Length) {
			args[i] = strconv.FormatInt(v.Length, 10)
		} else {
			args[i] = rename(args[i], v)
		}
	}
	for _, volume := range pod.Volumes {
		if volume.ConfigMap != nil {
			volume.ConfigMap.Name = rename(volume.ConfigMap.Name, v)
		}
	}
	return wanted
}

func carriesConfigMap(live, wanted client.Object) bool {
	return equality.Semantic.DeepDerivative(wanted.(*corev1.ConfigMap).Data, live.(*corev1.ConfigMap).Data)
}

func carriesService(live, wanted client.Object) bool {
	return equality.Semantic.DeepDerivative(wanted.(*corev1.Service).Spec, live.(*corev1.Service).Spec)
}

func carriesDeployment(live, wanted client.Object) bool {
	return equality.Semantic.DeepDerivative(wanted.(*appsv1.Deployment).Spec, live.(*appsv1.Deployment).Spec)
}
