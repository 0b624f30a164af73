package proxy

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"
)

// Nothing that a proxy started outlives it.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// behind starts a cluster of three brokers in memory and a proxy in front of it.
func behind(t *testing.T) (*kfake.Cluster, *Proxy) {
	t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(3), kfake.SeedTopics(6, "t"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	p, err := Start(Options{Brokers: c.ListenAddrs()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return c, p
}

func client(t *testing.T, brokers []string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(brokers...), kgo.DisableClientMetrics()}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// dialed notes which addresses a client connects to.
type dialed struct {
	mu    sync.Mutex
	addrs map[string]bool
}

func (d *dialed) option() kgo.Opt {
	return kgo.Dialer(func(ctx context.Context, network, addr string) (net.Conn, error) {
		d.mu.Lock()
		if d.addrs == nil {
			d.addrs = map[string]bool{}
		}
		d.addrs[addr] = true
		d.mu.Unlock()
		return new(net.Dialer).DialContext(ctx, network, addr)
	})
}
