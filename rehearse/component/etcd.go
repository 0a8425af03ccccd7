package component

import (
	"fmt"
	"net/url"
	"os"

	"github.com/spf13/pflag"
	"go.etcd.io/etcd/client/pkg/v3/transport"
	"go.etcd.io/etcd/server/v3/embed"
)

const (
	etcdName = "rehearse"

	// A member without peers has no network to wait for, so it can elect itself
	// after a tenth of a second instead of one.
	etcdTickMillis     = 20
	etcdElectionMillis = 100

	// Room for a rehearsal of well over 100,000 pods.
	etcdQuotaBytes = 8 << 30
)

// runEtcd runs a cluster of one member.
func runEtcd(args []string) int {
	if err := serveEtcd(args); err != nil {
		fmt.Fprintln(os.Stderr, "etcd:", err)
		return 1
	}
	return 0
}

func serveEtcd(args []string) error {
	flags := pflag.NewFlagSet(Etcd, pflag.ContinueOnError)
	dataDir := flags.String("data-dir", "", "folder of the data")
	clientURL := flags.String("client-url", "", "address to serve clients on")
	peerURL := flags.String("peer-url", "", "address to serve peers on")
	certFile := flags.String("cert-file", "", "serving certificate")
	keyFile := flags.String("key-file", "", "key of the serving certificate")
	caFile := flags.String("ca-file", "", "authority that clients and peers must be signed by")
	if err := flags.Parse(args); err != nil {
		return err
	}
	client, err := url.Parse(*clientURL)
	if err != nil {
		return fmt.Errorf("--client-url: %w", err)
	}
	peer, err := url.Parse(*peerURL)
	if err != nil {
		return fmt.Errorf("--peer-url: %w", err)
	}
	tls := transport.TLSInfo{CertFile: *certFile, KeyFile: *keyFile, TrustedCAFile: *caFile, ClientCertAuth: true}

	config := embed.NewConfig()
	config.Name = etcdName
	config.Dir = *dataDir
	config.ListenClientUrls, config.AdvertiseClientUrls = []url.URL{*client}, []url.URL{*client}
	config.ListenPeerUrls, config.AdvertisePeerUrls = []url.URL{*peer}, []url.URL{*peer}
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	config.ClientTLSInfo, config.PeerTLSInfo = tls, tls
	config.TickMs, config.ElectionMs = etcdTickMillis, etcdElectionMillis
	config.QuotaBackendBytes = etcdQuotaBytes
	config.LogLevel = "warn"
	// The data need not outlive the machine. They do outlive a killed process:
	// what it has written stays in the page cache.
	config.UnsafeNoFsync = true

	ctx, stop := untilSignal()
	defer stop()
	server, err := embed.StartEtcd(config)
	if err != nil {
		return fmt.Errorf("start: %w", err)
	}
	defer server.Close()
	select {
	case <-ctx.Done():
		return nil
	case err := <-server.Err():
		return fmt.Errorf("serve: %w", err)
	case <-server.Server.StopNotify():
		return fmt.Errorf("the server stopped by itself")
	}
}
