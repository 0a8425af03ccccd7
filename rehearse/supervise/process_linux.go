package supervise

import "syscall"

// processAttributes puts a child in a process group of its own, so that Ctrl-C in
// a terminal reaches the parent alone, which then ends its children in order; and
// asks the kernel to kill the child when the parent is gone.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
