// raw writes what the operator writes for every InferenceDeployment of the benchmark, and does nothing else: it reads no
// answer, watches nothing, compares nothing. Its time is the least that this API server needs for these writes.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"sync"

	"inference-operator.dev/bench/sample"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const modelsPath = "/apis/" + sample.Group + "/" + sample.Version + "/namespaces/" + sample.Namespace + "/inferencedeployments"

// paths of the children's collections.
var paths = map[string]string{
	"v1/ConfigMap":                  "/api/v1/namespaces/" + sample.Namespace + "/configmaps",
	"v1/Service":                    "/api/v1/namespaces/" + sample.Namespace + "/services",
	"apps/v1/Deployment":            "/apis/apps/v1/namespaces/" + sample.Namespace + "/deployments",
	"policy/v1/PodDisruptionBudget": "/apis/policy/v1/namespaces/" + sample.Namespace + "/poddisruptionbudgets",
}

type writer struct {
	client *http.Client
	server string
	look   bool
	child  []sample.Child
	status sample.Template
}

func main() {
	kubeconfig := flag.String("kubeconfig", "", "kubeconfig file")
	file := flag.String("sample", "", "file with the rendered sample")
	workers := flag.Int("workers", 4, "models that are written at the same time")
	look := flag.Bool("look", false, "read each child before it is written, as the operator does before its first write")
	flag.Parse()
	if err := run(*kubeconfig, *file, *workers, *look); err != nil {
		fmt.Fprintln(os.Stderr, "raw:", err)
		os.Exit(1)
	}
}

func run(kubeconfig, file string, workers int, look bool) error {
	w := writer{look: look}
	if err := w.connect(kubeconfig, workers); err != nil {
		return err
	}
	if err := w.load(file); err != nil {
		return err
	}
	models, err := w.models()
	if err != nil {
		return err
	}
	queue := make(chan sample.Values)
	failed := make(chan error, workers)
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			for model := range queue {
				if err := w.write(model); err != nil {
					failed <- err
					break
				}
			}
			for range queue { // a worker that failed lets the rest come to its end
			}
		})
	}
	for _, model := range models {
		queue <- model
	}
	close(queue)
	running.Wait()
	close(failed)
	return <-failed
}

// connect makes one HTTP/1.1 connection for each worker: on one machine that costs both ends less than HTTP/2.
func (w *writer) connect(kubeconfig string, workers int) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	config.NextProtos = []string{"http/1.1"}
	config.QPS = -1
	tls, err := rest.TLSConfigFor(config)
	if err != nil {
		return err
	}
	transport := &http.Transport{TLSClientConfig: tls, MaxIdleConnsPerHost: workers, DisableCompression: true}
	authorized, err := rest.HTTPWrappersForConfig(config, transport)
	if err != nil {
		return err
	}
	w.client, w.server = &http.Client{Transport: authorized}, config.Host
	return nil
}

func (w *writer) load(file string) error {
	s, err := sample.Load(file)
	if err != nil {
		return err
	}
	for index := range s.Children {
		child, err := s.Child(index)
		if err != nil {
			return err
		}
		if paths[child.APIVersion+"/"+child.Kind] == "" {
			return fmt.Errorf("no path is known for %s", child.Kind)
		}
		w.child = append(w.child, child)
	}
	w.status, err = s.StatusBody()
	return err
}

func (w *writer) models() ([]sample.Values, error) {
	response, err := w.client.Get(w.server + modelsPath)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var list struct {
		Items []struct {
			Metadata struct{ Name, UID string }
			Spec     struct {
				Serving struct{ MaxModelLen int64 }
			}
		}
	}
	if err := json.NewDecoder(response.Body).Decode(&list); err != nil {
		return nil, err
	}
	var models []sample.Values
	for _, item := range list.Items {
		models = append(models, sample.Values{
			Name: item.Metadata.Name, UID: item.Metadata.UID, Length: item.Spec.Serving.MaxModelLen,
			Hash: "0000000000000000000000000000000000000000000000000000000000000000", // as long as one
		})
	}
	return models, nil
}

// write sends the children in order and then the status, as a worker of the operator does.
func (w *writer) write(model sample.Values) error {
	var body []byte
	for _, child := range w.child {
		path := paths[child.APIVersion+"/"+child.Kind] + "/" + url.PathEscape(child.Name(model.Name))
		if w.look {
			if err := w.send(http.MethodGet, path, nil, http.StatusNotFound); err != nil {
				return err
			}
		}
		body = child.Template.Fill(body[:0], model)
		query := "?fieldManager=" + sample.FieldManager + "&fieldValidation=Strict"
		if err := w.send(http.MethodPatch, path+query, body, http.StatusCreated); err != nil {
			return err
		}
	}
	body = w.status.Fill(body[:0], model)
	path := modelsPath + "/" + url.PathEscape(model.Name) + "/status"
	query := "?fieldManager=" + sample.FieldManager + "&fieldValidation=Strict&force=true"
	return w.send(http.MethodPatch, path+query, body, http.StatusOK)
}

func (w *writer) send(method, path string, body []byte, want int) error {
	request, err := http.NewRequest(method, w.server+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/apply-patch+yaml")
	request.Header.Set("Accept", "application/json")
	response, err := w.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != want {
		answer, _ := io.ReadAll(response.Body)
		return fmt.Errorf("%s %s: %s: %s", method, path, response.Status, answer)
	}
	_, err = io.Copy(io.Discard, response.Body)
	return err
}
