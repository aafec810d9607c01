package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"inference-operator.dev/bench/sample"
)

const (
	baseLength = 4096 // spec.serving.maxModelLen before any change
	clients    = 8    // that make the models
)

var (
	models      = schema.GroupVersionResource{Group: sample.Group, Version: sample.Version, Resource: "inferencedeployments"}
	deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	configMaps  = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	// All that one round leaves, owners before what they own.
	remains = []schema.GroupVersionResource{
		models, deployments, {Group: "apps", Version: "v1", Resource: "replicasets"},
		{Version: "v1", Resource: "services"}, {Group: "discovery.k8s.io", Version: "v1", Resource: "endpointslices"},
		configMaps, {Group: "events.k8s.io", Version: "v1", Resource: "events"},
	}
)

func modelName(number int) string { return fmt.Sprintf("model-%05d", number) }

func (c *cluster) in(resource schema.GroupVersionResource) dynamic.ResourceInterface {
	return c.client.Resource(resource).Namespace(sample.Namespace)
}

// createModels makes the models that the contestants then find.
func (c *cluster) createModels(ctx context.Context, count int) error {
	numbers := make(chan int)
	failed := make(chan error, clients)
	var running sync.WaitGroup
	for range clients {
		running.Go(func() {
			for number := range numbers {
				object := &unstructured.Unstructured{Object: sample.Model(modelName(number), baseLength)}
				if _, err := c.in(models).Create(ctx, object, metav1.CreateOptions{}); err != nil {
					failed <- err
					break
				}
			}
			for range numbers { // whoever failed lets the rest come to its end
			}
		})
	}
	for number := range count {
		numbers <- number
	}
	close(numbers)
	running.Wait()
	close(failed)
	return <-failed
}

// clean removes everything that a round made.
func (c *cluster) clean(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Minute)
	defer cancel()
	background := metav1.DeletePropagationBackground
	for {
		left := 0
		for _, resource := range remains {
			options := metav1.ListOptions{}
			if resource == configMaps { // one of them is Kubernetes' own
				options.LabelSelector = sample.ManagedByLabel + "=" + sample.ManagedBy
			}
			err := c.in(resource).DeleteCollection(ctx, metav1.DeleteOptions{PropagationPolicy: &background}, options)
			if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
				return fmt.Errorf("remove all %s: %w", resource.Resource, err)
			}
			options.Limit = 1
			list, err := c.in(resource).List(ctx, options)
			if err != nil {
				return err
			}
			left += len(list.Items)
		}
		if left == 0 {
			return nil
		}
		if err := pause(ctx, 500*time.Millisecond); err != nil {
			return err
		}
	}
}

// allReady says whether every model's status says that it is.
func (c *cluster) allReady(ctx context.Context) (bool, error) {
	list, err := c.in(models).List(ctx, metav1.ListOptions{})
	if err != nil {
		return false, err
	}
	for _, item := range list.Items {
		if !isReady(item.Object) {
			return false, nil
		}
	}
	return true, nil
}

func isReady(object map[string]any) bool {
	conditions, _, _ := unstructured.NestedSlice(object, "status", "conditions")
	for _, each := range conditions {
		if condition, _ := each.(map[string]any); condition["type"] == "Ready" {
			return condition["status"] == "True"
		}
	}
	return false
}

// makeSample renders a model with tokens in it, and lets the operator write its status: what the peer and the raw writer
// then do for every model.
func (c *cluster) makeSample(ctx context.Context, o options) (string, error) {
	object := sample.Model(sample.Name, sample.Length)
	file := filepath.Join(o.out, "model.json")
	text, err := json.Marshal(object)
	if err != nil {
		return "", err
	}
	if err := writeFile(file, text); err != nil {
		return "", err
	}
	rendered, err := exec.CommandContext(ctx, o.cli, "render", "-o", "json", "-f", file).Output()
	if err != nil {
		return "", fmt.Errorf("render the sample: %w", err)
	}
	var list struct{ Items []map[string]any }
	if err := json.Unmarshal(rendered, &list); err != nil {
		return "", err
	}
	if _, err := c.in(models).Create(ctx, &unstructured.Unstructured{Object: object}, metav1.CreateOptions{}); err != nil {
		return "", err
	}
	p, err := start(ctx, operatorContestant(o, c), o.out)
	if err != nil {
		return "", err
	}
	defer p.stop()
	status, err := c.statusOf(ctx, sample.Name)
	if err != nil {
		return "", err
	}
	path := filepath.Join(o.out, "sample.json")
	return path, (&sample.Sample{Children: list.Items, Status: status}).Save(path)
}

func (c *cluster) statusOf(ctx context.Context, name string) (map[string]any, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		object, err := c.in(models).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		if status, found, _ := unstructured.NestedMap(object.Object, "status"); found {
			return status, nil
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

// pause waits, or says why it may not.
func pause(ctx context.Context, duration time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(duration):
		return nil
	}
}
