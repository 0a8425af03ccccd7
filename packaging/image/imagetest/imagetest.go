// Package imagetest makes small things to put into an image: a program that stands in for the
// product, and a root certificate. Tests of this module alone import it.
package imagetest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

const program = `package main

import (
	"fmt"
	"os"
)

var version, commit, date string

func main() { fmt.Println(version, commit, date, os.Args) }
`

// StandIn builds a static program in a folder, for this machine, stamped as the product is: it
// prints its version, its commit, its date and its arguments.
func StandIn(folder, version, commit, date string) (string, error) {
	for name, text := range map[string]string{"go.mod": "module example.com/standin\n\ngo 1.26\n", "main.go": program} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			return "", fmt.Errorf("write the stand-in: %w", err)
		}
	}
	cmd := exec.Command("go", "build", "-o", "plimsoll", "-ldflags",
		fmt.Sprintf("-s -X main.version=%s -X main.commit=%s -X main.date=%s", version, commit, date), ".")
	cmd.Dir = folder
	// Linux on this machine's processor, whatever platform the environment names.
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=", "GOFLAGS=-buildvcs=false", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the stand-in: %w: %s", err, out)
	}
	return filepath.Join(folder, "plimsoll"), nil
}

// Certificate is a root certificate as PEM, another one each time.
func Certificate() ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Unix(1<<32, 0), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, fmt.Errorf("make a certificate: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}
