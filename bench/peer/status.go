package main

import (
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"inference-operator.dev/bench/sample"
)

// statusMaker computes statuses; what does not depend on the cluster comes from the sample.
type statusMaker struct {
	constant Status
	resolved sample.Template
	selector sample.Template
	children int
}

func newStatusMaker(s *sample.Sample) (*statusMaker, error) {
	m := &statusMaker{children: len(s.Children)}
	data, err := json.Marshal(s.Status)
	if err == nil {
		err = json.Unmarshal(data, &m.constant)
	}
	if err == nil {
		m.resolved, err = sample.NewTemplate(s.Status["resolved"])
	}
	if err == nil {
		m.selector, err = sample.NewTemplate(s.Status["selector"])
	}
	return m, err
}

// workload is what the status needs to know of the Deployment: from the cache, or as just applied.
type workload struct {
	Metadata struct {
		Generation int64 `json:"generation"`
	} `json:"metadata"`
	Spec struct {
		Replicas *int32 `json:"replicas"`
	} `json:"spec"`
	Status appsv1.DeploymentStatus `json:"status"`
}

func workloadOf(d *appsv1.Deployment) *workload {
	w := &workload{Status: d.Status}
	w.Metadata.Generation, w.Spec.Replicas = d.Generation, d.Spec.Replicas
	return w
}

func (w *workload) wanted() int32 {
	if w.Spec.Replicas == nil {
		return 1
	}
	return *w.Spec.Replicas
}

func (w *workload) current() bool { return w.Status.ObservedGeneration >= w.Metadata.Generation }

func (w *workload) settled() bool {
	s, wanted := w.Status, w.wanted()
	return w.current() && s.Replicas == wanted && s.UpdatedReplicas == wanted && s.ReadyReplicas == wanted
}

// compute is pure but for the time of transitions. `conflict` tells of an object that is in the way and is not ours.
func (m *statusMaker) compute(model *InferenceDeployment, w *workload, conflict string) Status {
	v := sample.Values{Name: model.Name, UID: string(model.UID), Length: model.Spec.Serving.MaxModelLen}
	status := m.constant
	status.ObservedGeneration = model.Generation
	status.Replicas, status.ReadyReplicas, status.UpdatedReplicas = 0, 0, 0
	status.Workload = nil
	if w != nil {
		status.Replicas, status.ReadyReplicas, status.UpdatedReplicas = w.Status.Replicas, w.Status.ReadyReplicas, w.Status.UpdatedReplicas
		status.Workload = &Workload{APIVersion: "apps/v1", Kind: "Deployment", Name: model.Name}
	}
	status.Resolved = &apiextensionsv1.JSON{Raw: m.resolved.Fill(nil, v)}
	selector := m.selector.Fill(nil, v)
	status.Selector = string(selector[1 : len(selector)-1])

	status.Conditions = append([]metav1.Condition(nil), model.Status.Conditions...)
	set := func(kind string, value metav1.ConditionStatus, reason, message string) {
		apimeta.SetStatusCondition(&status.Conditions, metav1.Condition{
			Type: kind, Status: value, Reason: reason, Message: message, ObservedGeneration: model.Generation,
		})
	}
	ready := m.ready(w, conflict)
	set("Ready", ready.Status, ready.Reason, ready.Message)
	set("Resolved", metav1.ConditionTrue, "Resolved", fmt.Sprintf("%d objects follow from the spec", m.children))
	set("CacheReady", metav1.ConditionTrue, "NotUsed", "the weights are read in place from "+model.Spec.Model.URI)
	set("Scheduled", metav1.ConditionTrue, "NoReplicas", "no replicas are wanted")
	if w == nil {
		set("Available", metav1.ConditionUnknown, "NoWorkload", "nothing is deployed yet")
	} else {
		set("Available", metav1.ConditionTrue, "NoReplicas", "no replicas are wanted")
	}
	switch {
	case conflict != "":
		set("Progressing", metav1.ConditionFalse, "Conflict", conflict)
		set("Stalled", metav1.ConditionTrue, "Conflict", conflict)
	case w != nil && w.settled():
		set("Progressing", metav1.ConditionTrue, "RolloutComplete", "every replica is of the newest revision")
	default:
		set("Progressing", metav1.ConditionTrue, "Applying", "the newest spec is being taken up")
	}
	set("TopologyVerified", metav1.ConditionUnknown, "NotChecked", "the topology check is off")
	if conflict == "" {
		apimeta.RemoveStatusCondition(&status.Conditions, "Stalled")
	}
	if ready.Status == metav1.ConditionUnknown {
		set("Reconciling", metav1.ConditionTrue, ready.Reason, ready.Message)
	} else {
		apimeta.RemoveStatusCondition(&status.Conditions, "Reconciling")
	}
	return status
}

func (m *statusMaker) ready(w *workload, conflict string) metav1.Condition {
	switch {
	case conflict != "":
		return metav1.Condition{Status: metav1.ConditionFalse, Reason: "Conflict", Message: conflict}
	case w != nil && w.settled():
		return metav1.Condition{Status: metav1.ConditionTrue, Reason: "Suspended", Message: "no replicas are wanted"}
	default:
		return metav1.Condition{Status: metav1.ConditionUnknown, Reason: "Applying", Message: "the newest spec is being taken up"}
	}
}
