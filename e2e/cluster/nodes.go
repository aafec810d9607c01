package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// fakeNodeAnnotation marks the nodes whose kubelet is played by kwok.
const fakeNodeAnnotation = "kwok.x-k8s.io/node"

const nodePrefix = "gpu-"

// nodesPerRack gives the topology label something to tell apart.
const nodesPerRack = 4

// fakeNode looks like a machine with eight H100 (or gpus of them) as NVIDIA's feature discovery and RDMA device plugin
// describe it. The status is kept by the API server on create; kwok adds the conditions.
func fakeNode(index, gpus int) object {
	name := nodePrefix + strconv.Itoa(index)
	resources := object{"cpu": "128", "memory": "2Ti", "pods": "110", "ephemeral-storage": "7Ti", "rdma/hca_shared_devices_a": "1000"}
	labels := map[string]string{
		"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
		"topology.kubernetes.io/region": "local", "topology.kubernetes.io/zone": "local-a",
		"topology.kubernetes.io/rack": fmt.Sprintf("rack-%d", index/nodesPerRack),
		"type":                        "kwok",
	}
	spec := object{}
	if gpus > 0 {
		resources["nvidia.com/gpu"] = strconv.Itoa(gpus)
		maps.Copy(labels, gpuLabels(gpus))
		labels["node.kubernetes.io/instance-type"] = "p5.48xlarge"
		spec["taints"] = []object{{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}}
	}
	return object{
		"apiVersion": "v1", "kind": "Node",
		"metadata": object{"name": name, "labels": labels, "annotations": object{fakeNodeAnnotation: "fake"}},
		"spec":     spec,
		"status":   object{"capacity": resources, "allocatable": resources},
	}
}

// gpuLabels are those that NVIDIA's feature discovery gives a node.
func gpuLabels(gpus int) map[string]string {
	if gpus == 0 {
		return nil
	}
	return map[string]string{
		"nvidia.com/gpu.present":       "true",
		"nvidia.com/gpu.count":         strconv.Itoa(gpus),
		"nvidia.com/gpu.product":       "NVIDIA-H100-80GB-HBM3",
		"nvidia.com/gpu.family":        "hopper",
		"nvidia.com/gpu.memory":        "81559", // MiB
		"nvidia.com/gpu.compute.major": "9",
		"nvidia.com/gpu.compute.minor": "0",
		"nvidia.com/gpu.replicas":      "1",
		"nvidia.com/mig.capable":       "true",
		"nvidia.com/mig.strategy":      "single",
	}
}

// createNodes makes count new nodes and returns their names.
func (c *cluster) createNodes(ctx context.Context, count int) ([]string, error) {
	var names []string
	for range count {
		fake := fakeNode(c.NextNode, c.GPUs)
		if err := c.create(ctx, "/api/v1/nodes", fake, nil); err != nil {
			return names, errors.Join(err, c.save())
		}
		c.NextNode++
		names = append(names, objectName(fake))
	}
	return names, c.save()
}

type node struct {
	Metadata struct{ Name string }
	Spec     struct{ Taints []struct{ Key string } }
	Status   conditioned
}

// ready means that pods can be placed: the controller manager takes the not-ready taint away some time after the
// condition is True.
func (n node) ready() bool {
	waiting := slices.ContainsFunc(n.Spec.Taints, func(taint struct{ Key string }) bool {
		return strings.HasPrefix(taint.Key, "node.kubernetes.io/")
	})
	return n.Status.is("Ready") && !waiting
}

func (c *cluster) nodes(ctx context.Context) ([]node, error) {
	var list struct{ Items []node }
	return list.Items, c.get(ctx, "/api/v1/nodes", &list)
}

// awaitNodes returns once at least count nodes take pods.
func (s *supervisor) awaitNodes(ctx context.Context, count int) error {
	return s.await(ctx, fmt.Sprintf("%d nodes ready", count), func() (bool, error) {
		nodes, err := s.c.nodes(ctx)
		ready := len(nodes) - len(slices.DeleteFunc(slices.Clone(nodes), node.ready))
		if err == nil && ready < count {
			err = fmt.Errorf("%d of %d are", ready, count)
		}
		return err == nil, err
	})
}

// addNodes creates count more fake nodes and returns their names once they take pods.
func (c *cluster) addNodes(ctx context.Context, count int, say *progress) ([]string, error) {
	nodes, err := c.nodes(ctx)
	if err != nil {
		return nil, err
	}
	ready := len(nodes) - len(slices.DeleteFunc(nodes, node.ready))
	names, err := c.createNodes(ctx, count)
	if err != nil {
		return names, err
	}
	return names, newSupervisor(c, say).awaitNodes(ctx, ready+count)
}

// removeNode deletes a node, as an administrator does who takes a machine away. Its pods go some time later, by the
// controller manager's garbage collection.
func (c *cluster) removeNode(ctx context.Context, name string) error {
	err := c.call(ctx, http.MethodDelete, "/api/v1/nodes/"+name, "application/json", nil, nil)
	var refusal *apiError
	if errors.As(err, &refusal) && refusal.code == http.StatusNotFound {
		return fmt.Errorf("no node %s", name)
	}
	return err
}
