package controlplane

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

const loopback = "127.0.0.1"

// ports are where the components listen, on loopback.
type ports struct {
	etcdClient, etcdPeer, apiServer, controllerManager, scheduler, kwok int
}

// Ports are drawn from below the range that kernels give to outgoing connections:
// else one of those could take a component's port while it is started again.
const (
	lowestPort  = 20000
	highestPort = 29999
	portTries   = 1000
)

// freePorts draws ports that no process listens on.
func freePorts() (ports, error) {
	var p ports
	taken := map[int]bool{}
	for _, port := range []*int{&p.etcdClient, &p.etcdPeer, &p.apiServer, &p.controllerManager, &p.scheduler, &p.kwok} {
		drawn, err := FreePort(taken)
		if err != nil {
			return ports{}, err
		}
		taken[drawn] = true
		*port = drawn
	}
	return p, nil
}

// FreePort draws a port of the loopback address that no process listens on and that is not among the taken ones.
func FreePort(taken map[int]bool) (int, error) {
	var last error
	for range portTries {
		port := lowestPort + rand.IntN(highestPort-lowestPort+1)
		if taken[port] {
			continue
		}
		listener, err := net.Listen("tcp", hostPort(port))
		if err != nil {
			last = err
			continue
		}
		if err := listener.Close(); err != nil {
			return 0, fmt.Errorf("give port %d back: %w", port, err)
		}
		return port, nil
	}
	return 0, fmt.Errorf("find a free port of %s between %d and %d: %w", loopback, lowestPort, highestPort, last)
}

func hostPort(port int) string { return net.JoinHostPort(loopback, strconv.Itoa(port)) }

func httpsURL(port int) string { return "https://" + hostPort(port) }
