package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
)

// kueueCerts is the folder with its certificate, below the state folder in which it runs.
const kueueCerts = "conf/kueue-certs"

// kueueConfig lets Kueue run outside the cluster. Its visibility server would want certificates of its own.
const kueueConfig = `apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
namespace: kueue-system
health: {healthProbeBindAddress: "127.0.0.1:%d"}
metrics: {bindAddress: "0"}
webhook: {host: 127.0.0.1, port: %d, certDir: %s}
leaderElection: {leaderElect: false}
internalCertManagement: {enable: false}
clientConnection: {qps: 300, burst: 600}
manageJobsWithoutQueueName: false
featureGates: {VisibilityOnDemand: false}
integrations: {frameworks: [pod, deployment, statefulset, leaderworkerset.x-k8s.io/leaderworkerset]}
`

const queueNameLabel = "kueue.x-k8s.io/queue-name"

var kueueDefinitions = []string{
	"config/components/crd/bases/kueue.x-k8s.io_admissionchecks.yaml",
	"config/components/crd/bases/kueue.x-k8s.io_clusterqueues.yaml",
	"config/components/crd/bases/kueue.x-k8s.io_cohorts.yaml",
	"config/components/crd/bases/kueue.x-k8s.io_localqueues.yaml",
	"config/components/crd/bases/kueue.x-k8s.io_multikueueclusters.yaml",
	"config/components/crd/bases/kueue.x-k8s.io_multikueueconfigs.yaml",
	"config/components/crd/bases/kueue.x-k8s.io_provisioningrequestconfigs.yaml",
	"config/components/crd/bases/kueue.x-k8s.io_resourceflavors.yaml",
	"config/components/crd/bases/kueue.x-k8s.io_topologies.yaml",
	"config/components/crd/bases/kueue.x-k8s.io_workloadpriorityclasses.yaml",
	"config/components/crd/bases/kueue.x-k8s.io_workloads.yaml",
}

// kueueConverts are the kinds for which upstream's own installation has a conversion webhook.
var kueueConverts = []string{
	"clusterqueues.kueue.x-k8s.io", "cohorts.kueue.x-k8s.io", "localqueues.kueue.x-k8s.io",
	"multikueueclusters.kueue.x-k8s.io", "workloads.kueue.x-k8s.io",
}

// startKueue installs its definitions, starts it and returns once its webhooks act.
func (s *supervisor) startKueue(ctx context.Context) error {
	manager, err := findComponent("kueue")
	if err != nil {
		return err
	}
	share := filepath.Join(filepath.Dir(s.c.program(manager)), "share")
	err = s.say.step("Kueue definitions established", func() error {
		definitions, err := readObjects(filepath.Join(share, "kueue-crds.json"))
		if err != nil {
			return err
		}
		if err := s.c.convertByURL(definitions); err != nil {
			return err
		}
		if err := s.installDefinitions(ctx, definitions); err != nil {
			return err
		}
		// It ends when it is not told of them by the API server's list of all kinds, which lags behind.
		return s.await(ctx, "discovery of kueue.x-k8s.io/v1beta2", func() (bool, error) { return s.c.discovers(ctx, "workloads") })
	})
	if err != nil {
		return err
	}
	return s.say.step("Kueue manager and webhooks ready", func() error {
		if err := s.launch(manager); err != nil {
			return err
		}
		if err := s.awaitHealthy(ctx, manager); err != nil {
			return err
		}
		if err := s.c.installWebhooks(ctx, filepath.Join(share, "kueue-webhooks.json"), "kueue-", "kueue-webhook", webhooksOfKueue); err != nil {
			return err
		}
		return s.await(ctx, "Kueue webhooks", func() (bool, error) {
			err := s.c.proveKueue(ctx)
			return err == nil, err
		})
	})
}

// convertByURL names the server that converts between the versions of Kueue's kinds.
func (c *cluster) convertByURL(definitions []object) error {
	authority, err := os.ReadFile(c.pki("ca.crt"))
	if err != nil {
		return err
	}
	for _, definition := range definitions {
		spec, ok := definition["spec"].(object)
		if !ok {
			return fmt.Errorf("%s has no spec", objectName(definition))
		}
		if !slices.Contains(kueueConverts, objectName(definition)) {
			continue
		}
		spec["conversion"] = object{"strategy": "Webhook", "webhook": object{
			"conversionReviewVersions": []string{"v1"},
			"clientConfig": object{
				"url":      fmt.Sprintf("https://127.0.0.1:%d/convert", c.Ports["kueue-webhook"]),
				"caBundle": authority,
			},
		}}
	}
	return nil
}

// webhooksOfKueue leaves out those of kinds that are not served here. Those of pods and their owners are limited to
// namespaces that are no part of the system, as upstream's own installation does it.
func webhooksOfKueue(name string, webhook object) bool {
	switch name {
	case "mpod.kb.io", "vpod.kb.io", "mdeployment.kb.io", "vdeployment.kb.io", "mstatefulset.kb.io", "vstatefulset.kb.io":
		webhook["namespaceSelector"] = object{"matchExpressions": []object{{
			"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": []string{"kube-system", "kueue-system"},
		}}}
		return true
	case "mleaderworkerset.kb.io", "vleaderworkerset.kb.io", "mclusterqueue.kb.io", "vclusterqueue.kb.io", "vcohort.kb.io",
		"mresourceflavor.kb.io", "vresourceflavor.kb.io", "mworkload.kb.io", "vworkload.kb.io":
		return true
	}
	return false
}

// discovers says whether the list of all kinds has this one of kueue.x-k8s.io/v1beta2.
func (c *cluster) discovers(ctx context.Context, plural string) (bool, error) {
	var list struct{ Resources []struct{ Name string } }
	if err := c.get(ctx, "/apis/kueue.x-k8s.io/v1beta2", &list); err != nil {
		return false, err
	}
	return slices.ContainsFunc(list.Resources, func(each struct{ Name string }) bool { return each.Name == plural }), nil
}

// proveKueue creates LeaderWorkerSets as a server-side dry run: the mutating webhook must have marked the pod template,
// and the validating one must refuse what is no name of a queue.
func (c *cluster) proveKueue(ctx context.Context) error {
	const path = "/apis/leaderworkerset.x-k8s.io/v1/namespaces/default/leaderworkersets?dryRun=All"
	queued := func(queue string) object {
		set := probeSet("probe")
		set["metadata"] = object{"name": "probe", "labels": object{queueNameLabel: queue}}
		return set
	}
	var made struct {
		Spec struct {
			LeaderWorkerTemplate struct {
				WorkerTemplate struct {
					Metadata struct{ Annotations map[string]string }
				}
			}
		}
	}
	if err := c.create(ctx, path, queued("probe"), &made); err != nil {
		return err
	}
	if len(made.Spec.LeaderWorkerTemplate.WorkerTemplate.Metadata.Annotations) == 0 {
		return errors.New("the mutating webhook does not act yet")
	}
	refused := c.create(ctx, path, queued("No_Queue"), nil)
	var refusal *apiError
	if !errors.As(refused, &refusal) || refusal.code < 400 || refusal.code >= 500 || refusal.code == http.StatusNotFound {
		return errors.Join(errors.New("the validating webhook does not act yet"), refused)
	}
	return nil
}
