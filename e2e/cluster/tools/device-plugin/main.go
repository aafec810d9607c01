// Command device-plugin plays NVIDIA's device plugin on the local cluster's real node, with GPUs that are not there. Called
// as nvidia-smi it plays that program; it mounts itself under this name into each container that gets GPUs, as the container
// runtime of NVIDIA does.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

const resource = "nvidia.com/gpu"

func main() {
	if filepath.Base(os.Args[0]) == "nvidia-smi" {
		os.Exit(smi(os.Args[1:], os.Getenv(visible), os.Stdout))
	}
	gpus := flag.Int("gpus", 8, "number of GPUs")
	health := flag.String("health", "", "address that answers 200 while the kubelet knows the plugin")
	folder := flag.String("folder", api.DevicePluginPath, "the kubelet's folder for plugins")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	if err := run(ctx, *gpus, *health, *folder); err != nil {
		fmt.Fprintf(os.Stderr, "device-plugin: %s\n", err)
		os.Exit(1)
	}
}

// run registers the plugin again whenever the kubelet was started anew, until it is told to end.
func run(ctx context.Context, gpus int, health, folder string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	var known atomic.Bool
	ended := make(chan error, 1)
	go func() {
		ended <- http.ListenAndServe(health, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if !known.Load() {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		}))
	}()
	for {
		served := make(chan error, 1)
		go func() { served <- serveOnce(ctx, newPlugin(gpus, self), folder, &known) }()
		select {
		case err := <-ended:
			return err
		case err := <-served:
			known.Store(false)
			if ctx.Err() != nil {
				return nil
			}
			fmt.Fprintf(os.Stderr, "device-plugin: %s; again in a second\n", err)
			time.Sleep(time.Second)
		}
	}
}

// serveOnce serves the plugin's socket until the kubelet removes it, as it does when it starts.
func serveOnce(ctx context.Context, p *plugin, folder string, known *atomic.Bool) error {
	socket := filepath.Join(folder, "gpu.sock")
	if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	api.RegisterDevicePluginServer(server, p)
	go server.Serve(listener)
	defer server.Stop()
	if err := register(ctx, folder); err != nil {
		return err
	}
	known.Store(true)
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
		if _, err := os.Stat(socket); err != nil {
			return errors.New("the kubelet has started anew")
		}
	}
}

func register(ctx context.Context, folder string) error {
	connection, err := grpc.NewClient("unix://"+filepath.Join(folder, "kubelet.sock"),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer connection.Close()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	_, err = api.NewRegistrationClient(connection).Register(ctx,
		&api.RegisterRequest{Version: api.Version, Endpoint: "gpu.sock", ResourceName: resource})
	return err
}
