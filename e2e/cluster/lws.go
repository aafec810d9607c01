package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
)

const lwsNameLabel = "leaderworkerset.sigs.k8s.io/name"

// startLWS installs the LeaderWorkerSet definitions, starts its manager and returns once its webhooks answer.
func (s *supervisor) startLWS(ctx context.Context) error {
	err := s.say.step("LeaderWorkerSet definitions established", func() error {
		definitions, err := readObjects(filepath.Join(s.c.Bin, "share", "lws-crds.json"))
		if err != nil {
			return err
		}
		return s.installDefinitions(ctx, definitions)
	})
	if err != nil {
		return err
	}
	manager, err := findComponent("lws")
	if err != nil {
		return err
	}
	return s.say.step("LeaderWorkerSet manager and webhooks ready", func() error {
		if err := s.launch(manager); err != nil {
			return err
		}
		if err := s.awaitHealthy(ctx, manager); err != nil {
			return err
		}
		webhooks := filepath.Join(s.c.Bin, "share", "lws-webhooks.json")
		if err := s.c.installWebhooks(ctx, webhooks, "lws-", "lws-webhook", onlyPodsOfGroups); err != nil {
			return err
		}
		return s.await(ctx, "LeaderWorkerSet webhooks", func() (bool, error) {
			err := s.c.proveWebhooks(ctx)
			return err == nil, err
		})
	})
}

// installDefinitions makes custom resources known and returns once they are.
func (s *supervisor) installDefinitions(ctx context.Context, definitions []object) error {
	const collection = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	for _, definition := range definitions {
		// Create and not apply: the field ownership of 20,000 lines of schema would cost the API server seconds.
		err := s.c.create(ctx, collection, definition, nil)
		var refusal *apiError
		if err != nil && !(errors.As(err, &refusal) && refusal.code == http.StatusConflict) { // there from an earlier try
			return err
		}
	}
	for _, definition := range definitions {
		name := objectName(definition)
		err := s.await(ctx, name+" established", func() (bool, error) {
			var live struct{ Status conditioned }
			err := s.c.get(ctx, collection+"/"+name, &live)
			return live.Status.is("Established"), err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// onlyPodsOfGroups limits LWS's pod webhooks to pods of a LeaderWorkerSet: they only act on those, and a stopped manager
// must not stop all other pods.
func onlyPodsOfGroups(name string, webhook object) bool {
	if name == "mpod.kb.io" || name == "vpod.kb.io" {
		webhook["objectSelector"] = object{"matchExpressions": []object{{"key": lwsNameLabel, "operator": "Exists"}}}
	}
	return true
}

// installWebhooks registers the webhooks of a file by URL, since their server is no Service in the cluster. adjust may
// change each by its name, or leave it out.
func (c *cluster) installWebhooks(ctx context.Context, file, prefix, port string, adjust func(string, object) bool) error {
	configurations, err := readObjects(file)
	if err != nil {
		return err
	}
	authority, err := os.ReadFile(c.pki("ca.crt"))
	if err != nil {
		return err
	}
	plurals := map[string]string{
		"MutatingWebhookConfiguration":   "mutatingwebhookconfigurations",
		"ValidatingWebhookConfiguration": "validatingwebhookconfigurations",
	}
	for _, configuration := range configurations {
		kind, _ := configuration["kind"].(string)
		plural, ok := plurals[kind]
		if !ok {
			return fmt.Errorf("unexpected %s in %s", kind, file)
		}
		base := fmt.Sprintf("https://127.0.0.1:%d", c.Ports[port])
		if err := serveByURL(configuration, base, authority, adjust); err != nil {
			return err
		}
		name := prefix + objectName(configuration) // as upstream's own installation names it
		configuration["metadata"] = object{"name": name}
		if err := c.apply(ctx, "/apis/admissionregistration.k8s.io/v1/"+plural+"/"+name, configuration); err != nil {
			return err
		}
	}
	return nil
}

// serveByURL replaces the Service of each webhook that adjust keeps by a URL below base.
func serveByURL(configuration object, base string, authority []byte, adjust func(string, object) bool) error {
	webhooks, _ := configuration["webhooks"].([]any)
	kept := []any{}
	for _, each := range webhooks {
		webhook, _ := each.(object)
		config, _ := webhook["clientConfig"].(object)
		service, _ := config["service"].(object)
		path, ok := service["path"].(string)
		if !ok {
			return fmt.Errorf("a webhook of %s has no service path", objectName(configuration))
		}
		webhook["clientConfig"] = object{"url": base + path, "caBundle": authority} // []byte is base64 in JSON
		if name, _ := webhook["name"].(string); adjust(name, webhook) {
			kept = append(kept, webhook)
		}
	}
	configuration["webhooks"] = kept
	return nil
}

// proveWebhooks creates LeaderWorkerSets as a server-side dry run. The mutating webhook must have filled in the
// subdomain policy (the definition has no default for it), and the validating one must refuse a name that is no name for
// a Service: the API server learns of the two configurations one after the other.
func (c *cluster) proveWebhooks(ctx context.Context) error {
	const path = "/apis/leaderworkerset.x-k8s.io/v1/namespaces/default/leaderworkersets?dryRun=All"
	var made struct {
		Spec struct {
			NetworkConfig struct{ SubdomainPolicy string }
		}
	}
	if err := c.create(ctx, path, probeSet("probe"), &made); err != nil {
		return err
	}
	if made.Spec.NetworkConfig.SubdomainPolicy == "" {
		return errors.New("the mutating webhook does not act yet")
	}
	refused := c.create(ctx, path, probeSet("0probe"), nil)
	var refusal *apiError
	if !errors.As(refused, &refusal) || refusal.code < 400 || refusal.code >= 500 {
		return errors.Join(errors.New("the validating webhook does not act yet"), refused)
	}
	return nil
}

func probeSet(name string) object {
	return object{
		"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet",
		"metadata": object{"name": name},
		"spec": object{
			"replicas": 1,
			"leaderWorkerTemplate": object{
				"size": 2,
				"workerTemplate": object{
					"spec": object{"containers": []object{{"name": "probe", "image": "probe"}}},
				},
			},
		},
	}
}

// conditioned is the part of a status that tells whether something holds.
type conditioned struct {
	Conditions []struct{ Type, Status string }
}

func (c conditioned) is(kind string) bool {
	return slices.ContainsFunc(c.Conditions, func(each struct{ Type, Status string }) bool {
		return each.Type == kind && each.Status == "True"
	})
}

// readObjects reads a file of JSON objects one after another, where a List stands for its items.
func readObjects(file string) ([]object, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var objects []object
	for decoder := json.NewDecoder(bytes.NewReader(content)); ; {
		var next object
		if err := decoder.Decode(&next); errors.Is(err, io.EOF) {
			return objects, nil
		} else if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		items, isList := next["items"].([]any)
		if !isList {
			objects = append(objects, next)
			continue
		}
		for _, item := range items {
			objects = append(objects, maps.Clone(item.(object)))
		}
	}
}

func objectName(o object) string {
	metadata, _ := o["metadata"].(object)
	name, _ := metadata["name"].(string)
	return name
}
