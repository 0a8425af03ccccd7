package controlplane_test

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/plimsoll-dev/plimsoll/rehearse/controlplane"
)

func TestOnlyTheOwnerReadsTheData(t *testing.T) {
	err := filepath.WalkDir(shared.DataDir(), func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // etcd renames files as we look
		}
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %s", path, info.Mode())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Whatever the components listen on is an address of this machine alone.
func TestComponentsListenOnLoopbackOnly(t *testing.T) {
	listening := map[string]string{} // socket inode → local address
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		file, err := os.Open(table)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		for scanner := bufio.NewScanner(file); scanner.Scan(); {
			const listen = "0A"
			if f := strings.Fields(scanner.Text()); len(f) > 9 && f[3] == listen {
				listening[f[9]] = f[1]
			}
		}
	}
	const loopback = "0100007F:" // 127.0.0.1 in the kernel's byte order
	found := 0
	for _, process := range shared.Processes().Processes() {
		descriptors := fmt.Sprintf("/proc/%d/fd", process.PID)
		entries, err := os.ReadDir(descriptors)
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			target, err := os.Readlink(filepath.Join(descriptors, entry.Name()))
			if err != nil {
				continue // closed meanwhile
			}
			inode := strings.TrimSuffix(strings.TrimPrefix(target, "socket:["), "]")
			if address, ok := listening[inode]; ok {
				found++
				if !strings.HasPrefix(address, loopback) {
					t.Errorf("%s listens on %s", process.Name, address)
				}
			}
		}
	}
	if want := 6; found != want {
		t.Errorf("found %d listening sockets, want %d: two of etcd, one of each other component", found, want)
	}
}

func TestNoAccessWithoutCertificate(t *testing.T) {
	config := rest.AnonymousClientConfig(shared.AdminConfig())
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); !apierrors.IsUnauthorized(err) {
		t.Errorf("an anonymous list of nodes got %v", err)
	}
	// And no server is trusted that the rehearsal's authority did not sign.
	stranger := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}}}
	response, err := stranger.Get(config.Host + "/version")
	if err == nil {
		response.Body.Close()
		t.Error("a client without the authority trusts the server")
	}
}

func TestDataFolderOfOthersIsRefused(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "precious")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := controlplane.Start(t.Context(), controlplane.Config{DataDir: folder})
	if err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(file); err != nil {
		t.Errorf("a file of the user is gone: %v", err)
	}
}
