package controlplane

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// folders is the layout of the data folder.
type folders struct {
	root, etcd, pki, kubeconfigs, logs, config string
}

func (f folders) kubeconfig(name string) string {
	return filepath.Join(f.kubeconfigs, name+".kubeconfig")
}

func (f folders) log(name string) string { return filepath.Join(f.logs, name+".log") }

// makeFolders makes the data folder, which only its owner may enter.
func makeFolders(root string) (folders, error) {
	if root == "" {
		temporary, err := os.MkdirTemp("", "rehearse-")
		if err != nil {
			return folders{}, fmt.Errorf("make the data folder: %w", err)
		}
		root = temporary
	} else if err := makeEmpty(root); err != nil {
		return folders{}, fmt.Errorf("make the data folder: %w", err)
	}
	root, err := filepath.Abs(root)
	if err != nil {
		return folders{}, fmt.Errorf("make the data folder: %w", err)
	}
	f := folders{
		root:        root,
		etcd:        filepath.Join(root, "etcd"),
		pki:         filepath.Join(root, "pki"),
		kubeconfigs: filepath.Join(root, "kubeconfigs"),
		logs:        filepath.Join(root, "logs"),
		config:      filepath.Join(root, "config"),
	}
	for _, folder := range []string{f.etcd, f.pki, f.kubeconfigs, f.logs, f.config} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			return folders{}, errors.Join(fmt.Errorf("make the data folder: %w", err), os.RemoveAll(root))
		}
	}
	return f, nil
}

// makeEmpty makes the folder, or takes it over if it is empty. It refuses any
// other one: everything in the data folder is removed at the end.
func makeEmpty(root string) error {
	entries, err := os.ReadDir(root)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return os.MkdirAll(root, 0o700)
	case err != nil:
		return err
	case len(entries) > 0:
		return fmt.Errorf("%s is not empty, and would be removed at the end; name a new folder", root)
	}
	return os.Chmod(root, 0o700)
}
