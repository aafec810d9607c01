package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// object is a Kubernetes object as JSON.
type object = map[string]any

// httpClient trusts the cluster's authority only.
func (c *cluster) httpClient() (*http.Client, error) {
	if c.client != nil {
		return c.client, nil
	}
	authority, err := os.ReadFile(c.pki("ca.crt"))
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	c.client = &http.Client{
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}},
		Timeout:   30 * time.Second,
	}
	return c.client, nil
}

// call sends one request to the API server as the administrator and decodes the answer into into (unless nil).
func (c *cluster) call(ctx context.Context, method, path, contentType string, body, into any) error {
	client, err := c.httpClient()
	if err != nil {
		return err
	}
	var content []byte
	if body != nil {
		if content, err = json.Marshal(body); err != nil {
			return err
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, c.server()+path, bytes.NewReader(content))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+c.Token)
	request.Header.Set("Content-Type", contentType)
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode >= 300 {
		return &apiError{response.StatusCode, method, path, message(answer)}
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(answer, into)
}

func (c *cluster) get(ctx context.Context, path string, into any) error {
	return c.call(ctx, http.MethodGet, path, "application/json", nil, into)
}

func (c *cluster) create(ctx context.Context, path string, body, into any) error {
	return c.call(ctx, http.MethodPost, path, "application/json", body, into)
}

// apply is a server-side apply; the type's name says YAML, of which JSON is a part.
func (c *cluster) apply(ctx context.Context, path string, body any) error {
	return c.call(ctx, http.MethodPatch, path+"?fieldManager=localcluster&force=true", "application/apply-patch+yaml", body, nil)
}

// apiError is a refusal of the API server.
type apiError struct {
	code         int
	method, path string
	message      string
}

func (e *apiError) Error() string {
	return fmt.Sprintf("%s %s: %d %s", e.method, e.path, e.code, e.message)
}

// message of a Status object, else the text itself.
func message(answer []byte) string {
	if text, err := jsonField(answer, "message"); err == nil {
		return text
	}
	return string(bytes.TrimSpace(answer))
}
