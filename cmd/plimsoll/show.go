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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
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

// show keeps decisions and serves the page. Nothing of it stops the autoscaler: what fails is logged. The page's
// client has a rate of its own, so that requests which must be authorized take nothing of the autoscaler's.
func show(
	ctx context.Context, c config.Config, mode config.Mode, rc *rest.Config, metrics prometheus.Registerer,
	log *slog.Logger,
) (shown, error) {
	client, err := kubernetes.NewForConfig(rc)
	if err != nil {
		return shown{}, fmt.Errorf("make a client for the page: %w", err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var background sync.WaitGroup
	var file *decisions.Log
	if c.Page.DecisionLog != "" {
		file = decisions.NewLog(c.Page.DecisionLog, int64(c.Page.LogMegabytes)<<20, metrics, log)
		background.Go(func() { file.Run(ctx) })
	}
	book := decisions.New(decisions.DefaultCount, decisions.DefaultBytes, file, metrics)
	s := pageSettings(c, mode, client)
	page := ui.New(s, book, log)
	closePage := func() {}
	if c.Page.Address != "" {
		var listener net.Listener
		var why error
		if s.Allow == nil {
			why = exposed(ctx, client)
		}
		if why != nil {
			why = fmt.Errorf("%w; --ui-address=:8443 authenticates those who look", why)
		} else if listener, why = net.Listen("tcp", c.Page.Address); why == nil {
			closePage, why = servePage(ctx, listener, c.Page, page.Handler(), log)
		}
		if why != nil {
			log.Warn("there is no page; everything else works", "ui_address", c.Page.Address, "why", why)
		}
	}
	return shown{book, page, func() { closePage(); cancel(); background.Wait() }}, nil
}

// pageSettings are those of the page. Where other machines reach it, the API server is asked who may look.
func pageSettings(c config.Config, mode config.Mode, client kubernetes.Interface) ui.Settings {
	s := ui.Settings{Version: version, Observe: mode.Observe}
	if !ui.Loopback(c.Page.Address) {
		s.Allow = ui.Ask(client)
	}
	return s
}

// leader notes who leads. The name of the lease's holder begins with that of its pod.
func (s shown) leader(holder string, own bool) {
	name, _, _ := strings.Cut(holder, "_")
	s.page.Leader(name, own)
}

// servePage answers until the returned function is called; with TLS, unless the address is the loopback's.
func servePage(
	ctx context.Context, listener net.Listener, c config.Page, h http.Handler, log *slog.Logger,
) (func(), error) {
	scheme := "http"
	if !ui.Loopback(c.Address) {
		certificate, err := certificates(c)
		if err != nil {
			listener.Close()
			return func() {}, err
		}
		scheme = "https"
		listener = tls.NewListener(listener, &tls.Config{GetCertificate: certificate, MinVersion: tls.VersionTLS12})
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute,
		ErrorLog:    slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		BaseContext: func(net.Listener) context.Context { return ctx }}
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Error("the page is not served any more", "err", err)
		}
	}()
	log.Info("the page is served", "url", scheme+"://"+listener.Addr().String()+"/")
	return func() { server.Close() }, nil
}

// certificates gives each connection the page's certificate: the one that the files hold by then, so that a new one
// is used without a restart, or one that is made now.
func certificates(c config.Page) (func(*tls.ClientHelloInfo) (*tls.Certificate, error), error) {
	if c.CertFile != "" {
		read := func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile)
			if err != nil {
				return nil, fmt.Errorf("read the page's certificate: %w", err)
			}
			return &pair, nil
		}
		_, err := read(nil)
		return read, err
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("find a name for the page's certificate: %w", err)
	}
	certificate, key, err := cert.GenerateSelfSignedCertKey(host, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("make a certificate for the page: %w", err)
	}
	pair, err := tls.X509KeyPair(certificate, key)
	return func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &pair, nil }, err
}

// lookUp bounds the question which network the pod is in.
const lookUp = 10 * time.Second

// exposed says why a page on the loopback could be read by others than the pod: the pod shares its node's network, or
// it is not known whether it does. It is nil for a pod with a network of its own, and for a process that is no pod.
func exposed(ctx context.Context, client kubernetes.Interface) error {
	if _, err := rest.InClusterConfig(); errors.Is(err, rest.ErrNotInCluster) {
		return nil
	}
	unknown := func(err error) error {
		return fmt.Errorf("it is not known whether the pod shares its node's network: %w", err)
	}
	namespace, name := os.Getenv("POD_NAMESPACE"), os.Getenv("POD_NAME")
	if namespace == "" || name == "" {
		return unknown(errors.New("the environment has no POD_NAME and POD_NAMESPACE, which the chart sets"))
	}
	ctx, cancel := context.WithTimeout(ctx, lookUp)
	defer cancel()
	// The autoscaler may list pods, and need not be given a right to get them.
	pods, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()})
	switch {
	case err != nil:
		return unknown(fmt.Errorf("look up the pod %s/%s: %w", namespace, name, err))
	case len(pods.Items) != 1:
		return unknown(fmt.Errorf("the cluster with the nodes has no pod %s/%s", namespace, name))
	case pods.Items[0].Spec.HostNetwork:
		return errors.New("the pod shares its node's network, where every process could read the page")
	}
	return nil
}
