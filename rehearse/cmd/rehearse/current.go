package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// A running rehearsal is remembered in one small file of the user's own, so that
// `rehearse kubectl` finds it: named by the process id of `rehearse up`, it holds
// the path of the kubeconfig.
const runningFolder = "plimsoll-rehearse"

var (
	errNoRehearsal = errors.New("no rehearsal is running: start one with `rehearse up`, or name a cluster with " +
		"--kubeconfig or KUBECONFIG")
	errSeveral = errors.New("several rehearsals are running: choose one with --kubeconfig or KUBECONFIG")
)

// runningPath prefers the folder that the system empties at logout.
func runningPath() (string, error) {
	folder := os.Getenv("XDG_RUNTIME_DIR")
	if folder == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("find a folder to remember the rehearsal in: %w", err)
		}
		folder = cache
	}
	return filepath.Join(folder, runningFolder), nil
}

// remember notes that this process runs a rehearsal. The returned func forgets it
// again and leaves no file.
func remember(kubeconfig string) (forget func() error, err error) {
	folder, err := runningPath()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("remember the rehearsal: %w", err)
	}
	path := filepath.Join(folder, strconv.Itoa(os.Getpid()))
	if err := os.WriteFile(path, []byte(kubeconfig+"\n"), 0o600); err != nil {
		return nil, fmt.Errorf("remember the rehearsal: %w", err)
	}
	return func() error {
		if err := os.Remove(path); err != nil {
			return fmt.Errorf("forget the rehearsal: %w", err)
		}
		_ = os.Remove(folder) // stays while others are remembered in it
		return nil
	}, nil
}

// current returns the kubeconfig of the one running rehearsal. With several it
// refuses to guess: kubectl may be about to delete something.
func current() (string, error) {
	folder, err := runningPath()
	if err != nil {
		return "", err
	}
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("find the running rehearsal: %w", err)
	}
	var running []string
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || !alive(pid) {
			continue // not ours, or killed before it could forget
		}
		data, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		if err != nil {
			return "", fmt.Errorf("find the running rehearsal: %w", err)
		}
		running = append(running, strings.TrimSpace(string(data)))
	}
	switch len(running) {
	case 0:
		return "", errNoRehearsal
	case 1:
		return running[0], nil
	}
	return "", fmt.Errorf("%w:\n  %s", errSeveral, strings.Join(running, "\n  "))
}

func alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}
