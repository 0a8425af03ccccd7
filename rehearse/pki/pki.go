// Package pki makes the secrets of one rehearsal: a certificate authority that
// lives in memory only, the certificates that it signs, the key pair that signs
// service account tokens, and the kubeconfigs built from them.
//
// What flows in: names, groups and addresses. What flows out: PEM bytes and
// files that only their owner can read. Nothing here knows which component uses
// what; package controlplane decides that.
package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// A rehearsal is thrown away within hours or days. A year is far beyond it, and
// the hour before now forgives a clock that is set back a little.
const (
	validBefore = time.Hour
	validFor    = 365 * 24 * time.Hour
)

// Authority signs the certificates of one rehearsal. Its private key is never written anywhere, so
// no further certificate can be signed once the process has ended.
type Authority struct {
	cert *x509.Certificate
	key  crypto.Signer
	pem  []byte
}

// Pair is a certificate and its private key, both in PEM.
type Pair struct {
	Cert, Key []byte
}

// Files names where a Pair was written.
type Files struct {
	Cert, Key string
}

// NewAuthority makes a self-signed certificate authority.
func NewAuthority(commonName string) (*Authority, error) {
	// RSA, unlike the other keys: the API server verifies the client's certificate
	// with every request, and RSA signatures are the cheapest to verify.
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, fmt.Errorf("make the key of the certificate authority: %w", err)
	}
	template, err := newTemplate(pkix.Name{CommonName: commonName})
	if err != nil {
		return nil, err
	}
	template.IsCA = true
	template.BasicConstraintsValid = true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("sign the certificate authority %s: %w", commonName, err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("read back the certificate authority %s: %w", commonName, err)
	}
	return &Authority{cert: cert, key: key, pem: encodePEM("CERTIFICATE", der)}, nil
}

// PEM is the authority's certificate, for those who verify.
func (a *Authority) PEM() []byte { return a.pem }

// Pool holds the authority alone: nothing that it did not sign is trusted.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// Server signs a certificate for a server that is reached by the given names
// and addresses.
func (a *Authority) Server(commonName string, dnsNames []string, addresses []net.IP) (Pair, error) {
	template, err := newTemplate(pkix.Name{CommonName: commonName})
	if err != nil {
		return Pair{}, err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	template.DNSNames = dnsNames
	template.IPAddresses = addresses
	return a.sign(template)
}

// Client signs a certificate that authenticates a user of the given groups, as
// kube-apiserver reads it: the common name is the user, organizations are groups.
func (a *Authority) Client(user string, groups ...string) (Pair, error) {
	template, err := newTemplate(pkix.Name{CommonName: user, Organization: groups})
	if err != nil {
		return Pair{}, err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return a.sign(template)
}

// sign completes the template with a key of its own. An etcd server dials itself
// with its serving certificate, which is why Server asks for both usages.
func (a *Authority) sign(template *x509.Certificate) (Pair, error) {
	name := template.Subject.CommonName
	key, err := newKey()
	if err != nil {
		return Pair{}, fmt.Errorf("make the key of %s: %w", name, err)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return Pair{}, fmt.Errorf("sign the certificate of %s: %w", name, err)
	}
	keyPEM, err := encodePrivateKey(key)
	if err != nil {
		return Pair{}, fmt.Errorf("encode the key of %s: %w", name, err)
	}
	return Pair{Cert: encodePEM("CERTIFICATE", der), Key: keyPEM}, nil
}

// NewSigningKey makes the key pair of service account tokens: the private key
// signs, the public key verifies.
func NewSigningKey() (private, public []byte, err error) {
	key, err := newKey()
	if err != nil {
		return nil, nil, fmt.Errorf("make the service account key: %w", err)
	}
	if private, err = encodePrivateKey(key); err != nil {
		return nil, nil, fmt.Errorf("encode the service account key: %w", err)
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return nil, nil, fmt.Errorf("encode the public service account key: %w", err)
	}
	return private, encodePEM("PUBLIC KEY", der), nil
}

// Write stores the pair as <name>.crt and <name>.key in folder.
func (p Pair) Write(folder, name string) (Files, error) {
	files := Files{Cert: filepath.Join(folder, name+".crt"), Key: filepath.Join(folder, name+".key")}
	if err := WriteSecret(files.Cert, p.Cert); err != nil {
		return Files{}, err
	}
	if err := WriteSecret(files.Key, p.Key); err != nil {
		return Files{}, err
	}
	return files, nil
}

// WriteSecret writes a new file that only its owner can read. A file that is
// there already keeps its wider mode on writing, so it is an error.
func WriteSecret(path string, data []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("write secret file: %w", err)
	}
	if _, err := file.Write(data); err != nil {
		_ = file.Close()
		return fmt.Errorf("write secret file: %w", err)
	}
	if err := file.Close(); err != nil {
		return fmt.Errorf("write secret file: %w", err)
	}
	return nil
}

func newKey() (*ecdsa.PrivateKey, error) {
	return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
}

func newTemplate(subject pkix.Name) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("draw the serial number of %s: %w", subject.CommonName, err)
	}
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      subject,
		NotBefore:    now.Add(-validBefore),
		NotAfter:     now.Add(validFor),
	}, nil
}

func encodePrivateKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return encodePEM("EC PRIVATE KEY", der), nil
}

func encodePEM(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
