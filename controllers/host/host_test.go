package host

import (
	"net/http/httptest"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
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
