//go:build !linux

package supervise

import "syscall"

// processAttributes puts a child in a process group of its own, so that Ctrl-C in
// a terminal reaches the parent alone, which then ends its children in order.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
