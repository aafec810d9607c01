// peer does what inference-operator does for the InferenceDeployments of the benchmark, on controller-runtime. It renders
// by filling a sample that inference-operator made, so rendering itself costs it less; all else is the same work: cached
// reads, a look before the first write, server-side apply of what differs, pruning, status, events.
package main

import (
	"context"
	"errors"
	"flag"
	"net/http"
	"os"
	"sync/atomic"

	"go.uber.org/zap/zapcore"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"inference-operator.dev/bench/sample"
)

// Kinds that may be children and are none in the benchmark: all that is needed of them is to prune, so their metadata.
var (
	leaderWorkerSet = schema.GroupVersionKind{Group: "leaderworkerset.x-k8s.io", Version: "v1", Kind: "LeaderWorkerSet"}
	podGroup        = schema.GroupVersionKind{Group: "scheduling.k8s.io", Version: "v1beta1", Kind: "PodGroup"}
)

func metadataOf(kind schema.GroupVersionKind) *metav1.PartialObjectMetadata {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(kind)
	return object
}

func metadataList(kind schema.GroupVersionKind) *metav1.PartialObjectMetadataList {
	list := &metav1.PartialObjectMetadataList{}
	kind.Kind += "List"
	list.SetGroupVersionKind(kind)
	return list
}

type flags struct {
	kubeconfig, sample, health, metrics string
	workers                             int
}

func main() {
	var f flags
	flag.StringVar(&f.kubeconfig, "kube-config", "", "kubeconfig file") // controller-runtime takes --kubeconfig
	flag.StringVar(&f.sample, "sample", "", "file with the rendered sample")
	flag.StringVar(&f.health, "health-address", "127.0.0.1:8081", "where /readyz is served")
	flag.StringVar(&f.metrics, "metrics-address", "127.0.0.1:8080", "where /metrics is served")
	flag.IntVar(&f.workers, "workers", 4, "models reconciled at the same time")
	flag.Parse()
	ctrl.SetLogger(zap.New(zap.Level(zapcore.InfoLevel), zap.JSONEncoder()))
	if err := run(ctrl.SetupSignalHandler(), f); err != nil {
		ctrl.Log.Error(err, "cannot run")
		os.Exit(1)
	}
}

func run(ctx context.Context, f flags) error {
	s, err := sample.Load(f.sample)
	if err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", f.kubeconfig)
	if err != nil {
		return err
	}
	config.QPS = -1 // the API server's own priority and fairness is the limit
	m, err := newManager(config, f)
	if err != nil {
		return err
	}
	if err := addReadyCheck(m); err != nil {
		return err
	}
	if err := addController(ctx, m, s, f.workers); err != nil {
		return err
	}
	return m.Start(ctx)
}

func newManager(config *rest.Config, f flags) (manager.Manager, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), addToScheme(scheme)); err != nil {
		return nil, err
	}
	ours := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{sample.ManagedByLabel: sample.ManagedBy})}
	readOnly := true
	return ctrl.NewManager(config, ctrl.Options{
		Scheme:                 scheme,
		LeaderElection:         false,
		HealthProbeBindAddress: f.health,
		Metrics:                server.Options{BindAddress: f.metrics},
		Cache: cache.Options{
			DefaultTransform:             cache.TransformStripManagedFields(),
			DefaultUnsafeDisableDeepCopy: &readOnly, // nothing that comes from the cache is ever changed
			ByObject: map[client.Object]cache.ByObject{
				&corev1.ConfigMap{}: ours, &corev1.Service{}: ours, &corev1.Pod{}: ours, &appsv1.Deployment{}: ours,
				&policyv1.PodDisruptionBudget{}: ours, metadataOf(leaderWorkerSet): ours, metadataOf(podGroup): ours,
			},
		},
	})
}

// addReadyCheck makes /readyz tell when the caches are whole and the workers run.
func addReadyCheck(m manager.Manager) error {
	var started atomic.Bool
	if err := m.Add(manager.RunnableFunc(func(ctx context.Context) error { // started after the caches
		started.Store(true)
		<-ctx.Done()
		return nil
	})); err != nil {
		return err
	}
	return m.AddReadyzCheck("started", func(*http.Request) error {
		if !started.Load() {
			return errors.New("the caches are not whole")
		}
		return nil
	})
}

func addController(ctx context.Context, m manager.Manager, s *sample.Sample, workers int) error {
	kinds, err := loadChildren(s)
	if err != nil {
		return err
	}
	maker, err := newStatusMaker(s)
	if err != nil {
		return err
	}
	r := &reconciler{
		client: m.GetClient(), live: m.GetAPIReader(), recorder: m.GetEventRecorder(sample.Group + "/peer"),
		kinds: kinds, status: maker,
	}
	owned := []client.Object{
		&corev1.ConfigMap{}, &corev1.Service{}, &appsv1.Deployment{}, &policyv1.PodDisruptionBudget{},
		metadataOf(leaderWorkerSet), metadataOf(podGroup),
	}
	changed := predicate.Or(predicate.GenerationChangedPredicate{}, predicate.LabelChangedPredicate{}, predicate.AnnotationChangedPredicate{})
	b := ctrl.NewControllerManagedBy(m).
		For(&InferenceDeployment{}, builder.WithPredicates(changed)).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(modelOfPod)).
		Watches(&InferenceProfile{}, handler.EnqueueRequestsFromMapFunc(r.allModels), builder.WithPredicates(changed))
	for _, kind := range owned {
		if err := m.GetFieldIndexer().IndexField(ctx, kind, ownerIndex, ownerUID); err != nil {
			return err
		}
		b = b.Owns(kind)
	}
	return b.Complete(r)
}

func ownerUID(object client.Object) []string {
	if owner := metav1.GetControllerOfNoCopy(object); owner != nil && owner.Kind == sample.Kind {
		return []string{string(owner.UID)}
	}
	return nil
}

func modelOfPod(_ context.Context, pod client.Object) []reconcile.Request {
	name := pod.GetLabels()[sample.NameLabel]
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: pod.GetNamespace(), Name: name}}}
}

func (r *reconciler) allModels(ctx context.Context, _ client.Object) []reconcile.Request {
	var models InferenceDeploymentList
	if err := r.client.List(ctx, &models); err != nil {
		return nil
	}
	requests := make([]reconcile.Request, 0, len(models.Items))
	for i := range models.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&models.Items[i])})
	}
	return requests
}
