package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"inference-operator.dev/bench/sample"
)

const (
	ownerIndex    = "owner" // of children, by their controlling owner's uid
	conflictRetry = 30 * time.Second
)

// reconciler gathers from the caches, compares, and writes what differs.
type reconciler struct {
	client   client.Client // reads from the caches, writes to the API server
	live     client.Reader // reads from the API server
	recorder events.EventRecorder
	kinds    []childKind
	status   *statusMaker
	told     written
}

// conflictError says that an object of a child's name is there and is not ours.
type conflictError struct{ what string }

func (e *conflictError) Error() string {
	return e.what + " exists and is not ours, so it is left alone"
}

func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	var model InferenceDeployment
	if err := r.client.Get(ctx, request.NamespacedName, &model); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !model.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, nil // the garbage collector takes the children
	}
	if err := r.refuseProfiles(ctx); err != nil {
		return reconcile.Result{}, err
	}
	found, err := r.gather(ctx, &model)
	if err != nil {
		return reconcile.Result{}, err
	}
	var runs *workload
	var conflict *conflictError
	for i := range r.kinds {
		wanted := r.kinds[i].render(&model)
		live := found.take(wanted.kind.Kind, wanted.name)
		if live != nil && wanted.isCarriedBy(live) {
			runs = orDeployment(runs, live)
			continue
		}
		answer, err := r.write(ctx, &model, &wanted, live)
		if asConflict, is := err.(*conflictError); is {
			conflict = asConflict
			continue
		} else if err != nil {
			return reconcile.Result{}, fmt.Errorf("write %s %s: %w", wanted.kind.Kind, wanted.name, err)
		}
		if answer != nil {
			runs = answer
		}
	}
	if conflict == nil {
		if err := r.prune(ctx, found); err != nil {
			return reconcile.Result{}, err
		}
	}
	if err := r.writeStatus(ctx, &model, runs, conflict); err != nil {
		return reconcile.Result{}, err
	}
	if conflict != nil {
		return reconcile.Result{RequeueAfter: conflictRetry}, nil
	}
	return reconcile.Result{}, nil
}

// refuseProfiles ends what the benchmark does not have: rendering by a profile.
func (r *reconciler) refuseProfiles(ctx context.Context) error {
	var profiles InferenceProfileList
	if err := r.client.List(ctx, &profiles); err != nil {
		return err
	}
	for i := range profiles.Items {
		if profiles.Items[i].Spec.Default {
			return reconcile.TerminalError(fmt.Errorf("profile %s is marked as default, and profiles are not rendered", profiles.Items[i].Name))
		}
	}
	return nil
}

// children are what the caches hold of one model, by kind.
type children map[string][]client.Object

// take removes and returns one, nil when it is not there. What is left at the end is pruned.
func (c children) take(kind, name string) client.Object {
	for i, object := range c[kind] {
		if object.GetName() == name {
			c[kind] = append(c[kind][:i], c[kind][i+1:]...)
			return object
		}
	}
	return nil
}

func (r *reconciler) gather(ctx context.Context, model *InferenceDeployment) (children, error) {
	found := children{}
	for kind, list := range map[string]client.ObjectList{
		"ConfigMap":           &corev1.ConfigMapList{},
		"Service":             &corev1.ServiceList{},
		"Deployment":          &appsv1.DeploymentList{},
		"PodDisruptionBudget": &policyv1.PodDisruptionBudgetList{},
		"LeaderWorkerSet":     metadataList(leaderWorkerSet),
		"PodGroup":            metadataList(podGroup),
	} {
		err := r.client.List(ctx, list, client.InNamespace(model.Namespace), client.MatchingFields{ownerIndex: string(model.UID)})
		if err != nil {
			return nil, err
		}
		if err := apimeta.EachListItem(list, func(object runtime.Object) error {
			found[kind] = append(found[kind], object.(client.Object))
			return nil
		}); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// write applies one child. What the cache does not show may still exist: another's object, or ours that the cache has not
// heard of yet.
func (r *reconciler) write(ctx context.Context, model *InferenceDeployment, wanted *child, cached client.Object) (*workload, error) {
	options := []client.ApplyOption{client.FieldOwner(sample.FieldManager)}
	why := "changed"
	if cached == nil {
		why = "absent"
		live := wanted.kind.blank()
		err := r.live.Get(ctx, client.ObjectKey{Namespace: model.Namespace, Name: wanted.name}, live)
		switch {
		case err == nil && !metav1.IsControlledBy(live, model):
			return nil, &conflictError{wanted.kind.Kind + " " + wanted.name}
		case err == nil && wanted.isCarriedBy(live):
			return orDeployment(nil, live), nil
		case err == nil:
			options = append(options, client.ForceOwnership)
		case !apierrors.IsNotFound(err):
			return nil, err
		}
	} else {
		options = append(options, client.ForceOwnership)
	}
	object := &applied{
		apiVersion: wanted.kind.APIVersion, kind: wanted.kind.Kind, namespace: model.Namespace, name: wanted.name, body: wanted.body,
	}
	if err := r.client.Apply(ctx, object, options...); err != nil {
		return nil, err
	}
	log.FromContext(ctx).Info("applied child", "child", wanted.kind.Kind+" "+wanted.name, "why", why)
	if wanted.kind.Kind != "Deployment" {
		return nil, nil
	}
	var answer workload
	return &answer, json.Unmarshal(object.body, &answer)
}

func (r *reconciler) prune(ctx context.Context, rest children) error {
	for _, objects := range rest {
		for _, object := range objects {
			if !object.GetDeletionTimestamp().IsZero() {
				continue
			}
			uid := object.GetUID()
			err := r.client.Delete(ctx, object, client.Preconditions{UID: &uid}, client.PropagationPolicy(metav1.DeletePropagationBackground))
			if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
				return err
			}
			log.FromContext(ctx).Info("removed child", "child", object.GetName())
		}
	}
	return nil
}

// statusBody is what is applied to the subresource. The uid makes a write for an object that was made anew fail.
type statusBody struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name      string    `json:"name"`
		Namespace string    `json:"namespace"`
		UID       types.UID `json:"uid"`
	} `json:"metadata"`
	Status Status `json:"status"`
}

func (r *reconciler) writeStatus(ctx context.Context, model *InferenceDeployment, runs *workload, conflict *conflictError) error {
	text := ""
	if conflict != nil {
		text = conflict.Error()
	}
	status := r.status.compute(model, runs, text)
	if equality.Semantic.DeepEqual(&model.Status, &status) {
		r.told.forget(model.UID)
		return nil
	}
	body := statusBody{APIVersion: groupVersion.String(), Kind: sample.Kind, Status: status}
	body.Metadata.Name, body.Metadata.Namespace, body.Metadata.UID = model.Name, model.Namespace, model.UID
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	if r.told.covers(model, data) {
		return nil
	}
	object := &applied{apiVersion: body.APIVersion, kind: body.Kind, namespace: model.Namespace, name: model.Name, body: data}
	err = r.client.Status().Apply(ctx, object, client.FieldOwner(sample.FieldManager), client.ForceOwnership)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // gone, or made anew: its own event comes
	}
	if err != nil {
		return fmt.Errorf("write status: %w", err)
	}
	if err := r.told.remember(model.UID, data, object.body); err != nil {
		return err
	}
	ready := apimeta.FindStatusCondition(status.Conditions, "Ready")
	if ready.Status == metav1.ConditionTrue && !apimeta.IsStatusConditionTrue(model.Status.Conditions, "Ready") {
		r.recorder.Eventf(model, nil, corev1.EventTypeNormal, ready.Reason, "Reconcile", "%s", ready.Message)
	}
	return nil
}

func orDeployment(known *workload, object client.Object) *workload {
	if deployment, is := object.(*appsv1.Deployment); is {
		return workloadOf(deployment)
	}
	return known
}
