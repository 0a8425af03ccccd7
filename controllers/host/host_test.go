package host

import (
	"context"
	"net/http/httptest"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// TestReadyOnceAllIsRead: a controller that may not list what it watches is not ready.
func TestReadyOnceAllIsRead(t *testing.T) {
	for _, read := range []bool{true, false} {
		err := reads(&informertest.FakeInformers{Synced: &read})(httptest.NewRequest("GET", "/readyz", nil))
		if (err == nil) != read {
			t.Errorf("all is read: %v; ready: %v", read, err)
		}
	}
}

// TestAnEndWhilePreparing: a controller whose API server is silent ends when it is asked to.
func TestAnEndWhilePreparing(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	silent := make(chan struct{})
	defer close(silent)
	err := Host{}.Run(ctx, Controller{Name: "c"}, func() (manager.Manager, error) {
		end()
		<-silent
		return nil, nil
	})
	if err != nil {
		t.Error(err)
	}
}
