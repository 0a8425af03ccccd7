package clusterapi

import (
	"strings"
	"testing"
)

func TestFlagsReadWhatArgsWrote(t *testing.T) {
	want := Settings{Kubeconfig: "k", Address: "127.0.0.1:1", CertFile: "c", KeyFile: "y", CAFile: "a"}
	got, err := Flags(append(want.Args(), "--v=2"))
	if err != nil || got != want {
		t.Errorf("got %+v, %v", got, err)
	}
	for i, missing := range []string{"--kubeconfig", "--address", "--cert-file", "--key-file", "--ca-file"} {
		args := want.Args()
		args = append(args[:i:i], args[i+1:]...)
		if _, err := Flags(args); err == nil || !strings.Contains(err.Error(), missing) {
			t.Errorf("without %s: got %v", missing, err)
		}
	}
}
