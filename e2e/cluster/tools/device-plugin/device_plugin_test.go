package main

import (
	"strings"
	"testing"

	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

func answer(t *testing.T, want int, devices string, args ...string) string {
	t.Helper()
	var out strings.Builder
	if got := smi(args, devices, &out); got != want {
		t.Errorf("nvidia-smi %v exits with %d", args, got)
	}
	return out.String()
}

func TestAContainerSeesTheGPUsThatItWasGivenAndNoOthers(t *testing.T) {
	p := newPlugin(8, "/self")
	given, err := p.Allocate(t.Context(), &api.AllocateRequest{ContainerRequests: []*api.ContainerAllocateRequest{
		{DevicesIds: []string{p.devices[5].ID, p.devices[2].ID}}, {DevicesIds: []string{p.devices[0].ID}},
	}})
	if err != nil || len(given.ContainerResponses) != 2 {
		t.Fatalf("%v, %v", given, err)
	}
	first := given.ContainerResponses[0]
	if mount := first.Mounts[0]; mount.HostPath != "/self" || mount.ContainerPath != "/usr/bin/nvidia-smi" || !mount.ReadOnly {
		t.Errorf("mounts %v", mount)
	}
	list := answer(t, 0, first.Envs[visible], "-L")
	if !strings.HasPrefix(list, "GPU 0: ") || strings.Count(list, "\n") != 2 || strings.Index(list, p.devices[2].ID) > strings.Index(list, p.devices[5].ID) {
		t.Errorf("lists %q", list)
	}
	if got := answer(t, 0, first.Envs[visible], "topo", "-m"); !strings.Contains(got, "GPU1\tNV18\t X \t") || strings.Contains(got, "GPU2") {
		t.Errorf("matrix %q", got)
	}
}

func TestWithoutGPUsThereIsNothingToShow(t *testing.T) {
	for _, devices := range []string{"", "void", "none"} {
		if got := answer(t, 6, devices, "topo", "-m"); got != "No devices were found\n" {
			t.Errorf("%q gives %q", devices, got)
		}
	}
	answer(t, 2, "GPU-0", "--query-gpu=name")
}

func TestEveryGPUHasANameOfItsOwn(t *testing.T) {
	seen := map[string]bool{}
	for _, each := range newPlugin(16, "").devices {
		if seen[each.ID] || each.Health != api.Healthy {
			t.Errorf("%v", each)
		}
		seen[each.ID] = true
	}
}
