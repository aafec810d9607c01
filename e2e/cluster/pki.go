package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// authority is the cluster's own certificate authority. Every connection of the control plane is TLS by certificates of
// it, made anew for each cluster, so that nothing of one cluster opens another.
type authority struct {
	dir  string // where the files go: NAME.crt and NAME.key
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

const certificateLife = 365 * 24 * time.Hour // longer than any test cluster lives

func newAuthority(dir string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := certificateTemplate(pkix.Name{CommonName: "local-cluster-ca"})
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &authority{dir, cert, key}, writePair(dir, "ca", der, key)
}

func certificateTemplate(subject pkix.Name) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, big.NewInt(1<<62))
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      subject,
		NotBefore:    time.Now().Add(-time.Hour), // tolerates a clock that is set back a little
		NotAfter:     time.Now().Add(certificateLife),
	}
}

// issue writes NAME.crt and NAME.key, good as a client named user (and group, when not empty) and as a server on the
// loopback address and under the further names and addresses.
func (a *authority) issue(name, user, group string, further ...string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	subject := pkix.Name{CommonName: user}
	if group != "" {
		subject.Organization = []string{group}
	}
	template := certificateTemplate(subject)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	template.DNSNames = []string{"localhost"}
	for _, each := range further {
		if address := net.ParseIP(each); address != nil {
			template.IPAddresses = append(template.IPAddresses, address)
		} else {
			template.DNSNames = append(template.DNSNames, each)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		return err
	}
	return writePair(a.dir, name, der, key)
}

// newSigningKey writes the key pair that signs service account tokens: NAME.key and NAME.pub.
func newSigningKey(dir, name string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return err
	}
	if err := writePEM(filepath.Join(dir, name+".pub"), "PUBLIC KEY", public); err != nil {
		return err
	}
	return writeKey(filepath.Join(dir, name+".key"), key)
}

func writePair(dir, name string, der []byte, key *ecdsa.PrivateKey) error {
	if err := writePEM(filepath.Join(dir, name+".crt"), "CERTIFICATE", der); err != nil {
		return err
	}
	return writeKey(filepath.Join(dir, name+".key"), key)
}

func writeKey(file string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return writePEM(file, "EC PRIVATE KEY", der)
}

func writePEM(file, kind string, der []byte) error {
	return os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}

func randomToken() string {
	token := make([]byte, 32)
	rand.Read(token) // never fails, says its documentation
	return hex.EncodeToString(token)
}

// kubeconfig is a complete kubeconfig file; credentials are the user's fields.
func kubeconfig(server string, ca []byte, credentials string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Config
clusters:
- name: local
  cluster:
    server: %s
    certificate-authority-data: %s
users:
- name: local
  user:
%s
contexts:
- name: local
  context:
    cluster: local
    user: local
current-context: local
`, server, base64.StdEncoding.EncodeToString(ca), credentials)
}

// writeClientKubeconfig writes a kubeconfig that carries the client certificate NAME from the pki folder.
func writeClientKubeconfig(pki, name, server, file string) error {
	ca, err := os.ReadFile(filepath.Join(pki, "ca.crt"))
	if err != nil {
		return err
	}
	cert, err := os.ReadFile(filepath.Join(pki, name+".crt"))
	if err != nil {
		return err
	}
	key, err := os.ReadFile(filepath.Join(pki, name+".key"))
	if err != nil {
		return err
	}
	encode := base64.StdEncoding.EncodeToString
	credentials := "    client-certificate-data: " + encode(cert) + "\n    client-key-data: " + encode(key)
	return os.WriteFile(file, []byte(kubeconfig(server, ca, credentials)), 0o600)
}
