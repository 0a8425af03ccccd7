package clusterfile

import (
	"io"
	"strings"
	"testing"
)

// TestBounds: a source ends at its bound, whatever ends within it.
func TestBounds(t *testing.T) {
	b := &bounded{in: strings.NewReader(strings.Repeat("x", 100)), mostAll: 50, mostInOne: 20}
	buf, n := make([]byte, 10), 0
	var err error
	for err == nil {
		b.one = 0
		var got int
		got, err = b.Read(buf)
		n += got
	}
	if n != 50 || !strings.Contains(err.Error(), "above 50 bytes") {
		t.Error(n, err)
	}
	b = &bounded{in: strings.NewReader("short"), mostAll: 5, mostInOne: 5}
	if text, err := io.ReadAll(b); err != nil || string(text) != "short" {
		t.Error(text, err)
	}
}
