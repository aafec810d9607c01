package main

import (
	"context"
	"fmt"
	"strings"

	"google.golang.org/grpc"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// visible is the variable by which NVIDIA's container runtime is told a container's GPUs.
const visible = "NVIDIA_VISIBLE_DEVICES"

// plugin gives out GPUs of one NUMA node, all healthy for ever.
type plugin struct {
	api.UnimplementedDevicePluginServer
	devices []*api.Device
	self    string // this program's file
}

func newPlugin(gpus int, self string) *plugin {
	p := &plugin{self: self}
	for index := range gpus {
		p.devices = append(p.devices, &api.Device{
			ID: fmt.Sprintf("GPU-%08d-0000-0000-0000-000000000000", index), Health: api.Healthy,
			Topology: &api.TopologyInfo{Nodes: []*api.NUMANode{{ID: 0}}},
		})
	}
	return p
}

func (p *plugin) GetDevicePluginOptions(context.Context, *api.Empty) (*api.DevicePluginOptions, error) {
	return &api.DevicePluginOptions{}, nil
}

func (p *plugin) ListAndWatch(_ *api.Empty, stream grpc.ServerStreamingServer[api.ListAndWatchResponse]) error {
	if err := stream.Send(&api.ListAndWatchResponse{Devices: p.devices}); err != nil {
		return err
	}
	<-stream.Context().Done()
	return nil
}

func (p *plugin) Allocate(_ context.Context, request *api.AllocateRequest) (*api.AllocateResponse, error) {
	answer := &api.AllocateResponse{}
	for _, each := range request.ContainerRequests {
		answer.ContainerResponses = append(answer.ContainerResponses, &api.ContainerAllocateResponse{
			Envs:   map[string]string{visible: strings.Join(each.DevicesIds, ",")},
			Mounts: []*api.Mount{{ContainerPath: "/usr/bin/nvidia-smi", HostPath: p.self, ReadOnly: true}},
		})
	}
	return answer, nil
}
