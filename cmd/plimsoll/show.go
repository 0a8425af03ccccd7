package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"

	"github.com/plimsoll-dev/plimsoll/internal/config"
	"github.com/plimsoll-dev/plimsoll/internal/decisions"
	"github.com/plimsoll-dev/plimsoll/internal/ui"
)

// shown is what people look at: the decisions that are kept, and the page.
type shown struct {
	book *decisions.Book
	page *ui.Server
	stop func()
}

// show keeps decisions and serves the page. Nothing of it stops the autoscaler: what fails is logged.
func show(
	ctx context.Context, c config.Config, mode config.Mode, client kubernetes.Interface, metrics prometheus.Registerer,
	log *slog.Logger,
) shown {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var background sync.WaitGroup
	var file *decisions.Log
	if c.Page.DecisionLog != "" {
		file = decisions.NewLog(c.Page.DecisionLog, int64(c.Page.LogMegabytes)<<20, metrics, log)
		background.Go(func() { file.Run(ctx) })
	}
	book := decisions.New(decisions.DefaultCount, decisions.DefaultBytes, file, metrics)
	s := ui.Settings{Policy: c.Policy, Version: version, Observe: mode.Observe}
	if !ui.Loopback(c.Page.Address) {
		s.Allow = ui.Ask(client)
	}
	page := ui.New(s, book, log)
	closePage := func() {}
	if c.Page.Address != "" {
		why := errors.New("the pod shares its node's network, where every process could read it; " +
			"name an address that authenticates with --ui-address")
		if s.Allow != nil || !onHostNetwork(ctx, client, log) {
			closePage, why = servePage(ctx, c.Page, page.Handler(), log)
		}
		if why != nil {
			log.Warn("there is no page; everything else works", "ui_address", c.Page.Address, "why", why)
		}
	}
	return shown{book, page, func() { closePage(); cancel(); background.Wait() }}
}

// leader notes who leads. The name of the lease's holder begins with that of its pod.
func (s shown) leader(holder string, own bool) {
	name, _, _ := strings.Cut(holder, "_")
	s.page.Leader(name, own)
}

// servePage answers on its address until the returned function is called.
func servePage(ctx context.Context, c config.Page, h http.Handler, log *slog.Logger) (func(), error) {
	none := func() {}
	listener, err := net.Listen("tcp", c.Address)
	if err != nil {
		return none, err
	}
	scheme := "http"
	if !ui.Loopback(c.Address) {
		pair, err := certificate(c)
		if err != nil {
			listener.Close()
			return none, err
		}
		scheme = "https"
		listener = tls.NewListener(listener, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12})
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute,
		BaseContext: func(net.Listener) context.Context { return ctx }}
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Error("the page is not served any more", "err", err)
		}
	}()
	log.Info("the page is served", "url", scheme+"://"+listener.Addr().String()+"/")
	return func() { server.Close() }, nil
}

// certificate is the one that is named, or one that is made now.
func certificate(c config.Page) (tls.Certificate, error) {
	if c.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile)
		if err != nil {
			return pair, fmt.Errorf("read the page's certificate: %w", err)
		}
		return pair, nil
	}
	host, err := os.Hostname()
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("find a name for the page's certificate: %w", err)
	}
	certificate, key, err := cert.GenerateSelfSignedCertKey(host, nil, nil)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make a certificate for the page: %w", err)
	}
	return tls.X509KeyPair(certificate, key)
}

// onHostNetwork reports whether the process is a pod in its node's network: such a pod has the node's
// name for a host name. Where that cannot be found out, it counts as one.
func onHostNetwork(ctx context.Context, client kubernetes.Interface, log *slog.Logger) bool {
	if _, err := rest.InClusterConfig(); errors.Is(err, rest.ErrNotInCluster) {
		return false
	}
	host, err := os.Hostname()
	if err == nil {
		_, err = client.CoreV1().Nodes().Get(ctx, host, metav1.GetOptions{})
	}
	if err != nil && !apierrors.IsNotFound(err) {
		log.Warn("it is not known whether this pod shares its node's network", "err", err)
	}
	return !apierrors.IsNotFound(err)
}
