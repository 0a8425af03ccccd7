package supervise

import "runtime"

// threadKeeper runs functions on one operating system thread that lives as long
// as the keeper. The kernel sends the parent-death signal when the *thread* that
// started the child ends, and the Go runtime may end idle threads: children must
// be started from a thread that stays.
type threadKeeper struct {
	calls chan func()
}

func newThreadKeeper() *threadKeeper {
	k := &threadKeeper{calls: make(chan func())}
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for call := range k.calls {
			call()
		}
	}()
	return k
}

func (k *threadKeeper) do(f func() error) error {
	result := make(chan error, 1)
	k.calls <- func() { result <- f() }
	return <-result
}

func (k *threadKeeper) close() { close(k.calls) }
