package component

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	kwoklog "sigs.k8s.io/kwok/pkg/log"
)

// runKwok runs the kwok controller: fake nodes become Ready, pods bound to them
// run, and pods of a fake node that is deleted go with it.
func runKwok(args []string) int {
	if err := serveKwok(args); err != nil {
		slog.Error("kwok-controller ends", "error", err)
		return 1
	}
	return 0
}

func serveKwok(args []string) error {
	flags := pflag.NewFlagSet(Kwok, pflag.ContinueOnError)
	kubeconfig := flags.String("kubeconfig", "", "how to reach kube-apiserver")
	healthAddress := flags.String("health-address", "", "address to serve /healthz on")
	certFile := flags.String("cert-file", "", "serving certificate")
	keyFile := flags.String("key-file", "", "key of the serving certificate")
	if err := flags.Parse(args); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		return fmt.Errorf("read the kubeconfig: %w", err)
	}
	config.QPS = -1 // the kubelets of many nodes: each would have a rate of its own
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make the client: %w", err)
	}
	ctx, stop := untilSignal()
	defer stop()
	ctx = kwoklog.NewContext(ctx, kwoklog.NewLogger(os.Stderr, kwoklog.LevelWarn))
	synced, err := simulate(ctx, client)
	if err != nil {
		return err
	}
	return serveHealth(ctx, *healthAddress, *certFile, *keyFile, synced)
}

// serveHealth answers /healthz until ctx ends: 200 once synced returns true.
func serveHealth(ctx context.Context, address, certFile, keyFile string, synced func() bool) error {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		if !synced() {
			http.Error(w, "the nodes are not listed yet", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("listen on --health-address: %w", err)
	}
	server := &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: 5 * time.Second,
		TLSConfig:         &tls.Config{MinVersion: tls.VersionTLS13},
	}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.ServeTLS(listener, certFile, keyFile); ctx.Err() == nil {
		return fmt.Errorf("serve health: %w", err)
	}
	return nil
}
