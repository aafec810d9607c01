package main

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"inference-operator.dev/bench/sample"
)

var groupVersion = schema.GroupVersion{Group: sample.Group, Version: sample.Version}

func addToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(groupVersion, &InferenceDeployment{}, &InferenceDeploymentList{}, &InferenceProfile{}, &InferenceProfileList{})
	metav1.AddToGroupVersion(scheme, groupVersion)
	return nil
}

// InferenceDeployment has the fields of the CRD that this operator reads.
type InferenceDeployment struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              Spec   `json:"spec"`
	Status            Status `json:"status,omitzero"`
}

// Spec is what the user asks for.
type Spec struct {
	Model struct {
		URI string `json:"uri"`
	} `json:"model"`
	Serving struct {
		MaxModelLen int64 `json:"maxModelLen,omitempty"`
	} `json:"serving,omitzero"`
}

// Status is the whole status.
type Status struct {
	ObservedGeneration int64                 `json:"observedGeneration"`
	Conditions         []metav1.Condition    `json:"conditions"`
	Replicas           int32                 `json:"replicas"`
	ReadyReplicas      int32                 `json:"readyReplicas"`
	UpdatedReplicas    int32                 `json:"updatedReplicas"`
	Workload           *Workload             `json:"workload,omitempty"`
	Selector           string                `json:"selector"`
	DesiredReplicas    int64                 `json:"desiredReplicas"`
	Nodes              int64                 `json:"nodes"`
	GPUsPerPod         int64                 `json:"gpusPerPod"`
	Resolved           *apiextensionsv1.JSON `json:"resolved"`
	Notices            []Notice              `json:"notices"`
}

// Workload names the object that runs the model.
type Workload struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
}

// Notice is a remark on the spec.
type Notice struct {
	Reason  string `json:"reason"`
	Path    string `json:"path"`
	Message string `json:"message"`
}

// InferenceDeploymentList is a list of them.
type InferenceDeploymentList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []InferenceDeployment `json:"items"`
}

// InferenceProfile has the one field that says whether it concerns models that name none.
type InferenceProfile struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              struct {
		Default bool `json:"default,omitempty"`
	} `json:"spec"`
}

// InferenceProfileList is a list of them.
type InferenceProfileList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []InferenceProfile `json:"items"`
}

// What controller-gen would write.

func (in *InferenceDeployment) DeepCopyInto(out *InferenceDeployment) {
	*out = *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	in.Status.DeepCopyInto(&out.Status)
}

func (in *Status) DeepCopyInto(out *Status) {
	*out = *in
	if in.Conditions != nil {
		out.Conditions = make([]metav1.Condition, len(in.Conditions))
		for i := range in.Conditions {
			in.Conditions[i].DeepCopyInto(&out.Conditions[i])
		}
	}
	if in.Workload != nil {
		out.Workload = new(*in.Workload)
	}
	out.Resolved = in.Resolved.DeepCopy()
	if in.Notices != nil {
		out.Notices = append([]Notice{}, in.Notices...)
	}
}

func (in *InferenceDeployment) DeepCopyObject() runtime.Object {
	out := new(InferenceDeployment)
	in.DeepCopyInto(out)
	return out
}

func (in *InferenceDeploymentList) DeepCopyObject() runtime.Object {
	out := &InferenceDeploymentList{TypeMeta: in.TypeMeta, Items: make([]InferenceDeployment, len(in.Items))}
	in.ListMeta.DeepCopyInto(&out.ListMeta)
	for i := range in.Items {
		in.Items[i].DeepCopyInto(&out.Items[i])
	}
	return out
}

func (in *InferenceProfile) DeepCopyInto(out *InferenceProfile) {
	*out = *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
}

func (in *InferenceProfile) DeepCopyObject() runtime.Object {
	out := new(InferenceProfile)
	in.DeepCopyInto(out)
	return out
}

func (in *InferenceProfileList) DeepCopyObject() runtime.Object {
	out := &InferenceProfileList{TypeMeta: in.TypeMeta, Items: make([]InferenceProfile, len(in.Items))}
	in.ListMeta.DeepCopyInto(&out.ListMeta)
	for i := range in.Items {
		in.Items[i].DeepCopyInto(&out.Items[i])
	}
	return out
}
