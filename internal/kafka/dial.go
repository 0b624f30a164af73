package kafka

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Dial makes a client and waits until the cluster has answered it: an address given resolves and connects, authentication
// passes, and at least one broker that the cluster advertises can be reached. It ends within c.StartTimeout. What cannot
// be reached is a [*ConnectError], one line that names the address and the cause; wrong credentials are marked
// [ErrAuthentication]. The caller closes the client. Options in extra win over those of the settings.
//
// The client knows only the address that answered, and what that broker says of the others: a broker that hangs (a machine
// without power, a frozen process) would else be asked in its turn, and each time kgo waits 10 s for it.
func Dial(ctx context.Context, c Config, extra ...kgo.Opt) (*kgo.Client, error) {
	opts, err := c.Options()
	if err != nil {
		return nil, err
	}
	c.Brokers = append([]string(nil), c.Brokers...)
	c.EnsureDefaults()
	var met met
	defer met.done.Store(true)
	first := append(opts[:len(opts):len(opts)], kgo.WithHooks(&met))
	cl, err := kgo.NewClient(append(first, extra...)...)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.StartTimeout)
	defer cancel()
	found, err := c.discover(ctx, cl, &met)
	if err == nil && len(c.Brokers) > 1 {
		cl.Close()
		first = append(first, kgo.SeedBrokers(c.Brokers[found.seed]))
		if cl, err = kgo.NewClient(append(first, extra...)...); err != nil {
			return nil, err
		}
	}
	if err == nil {
		err = c.reach(ctx, cl, found.brokers, &met)
	}
	if err != nil {
		cl.Close()
		return nil, err
	}
	return cl, nil
}

// met are the addresses that have taken a connection, TLS handshake included. It is safe for concurrent use.
type met struct {
	addresses sync.Map
	// done: the first contact is over, and nobody asks any more.
	done atomic.Bool
}

// OnBrokerWrite implements [kgo.HookBrokerWrite]: what can be written to is there. (kgo's OnBrokerConnect waits for an answer.)
func (m *met) OnBrokerWrite(b kgo.BrokerMetadata, _ int16, _ int, _, _ time.Duration, err error) {
	if err == nil && !m.done.Load() {
		m.addresses.Store(net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port))), true)
	}
}

func (m *met) has(address string) bool {
	_, ok := m.addresses.Load(address)
	return ok
}

// discovered is what the address that answered first says.
type discovered struct {
	seed    int
	brokers []kmsg.MetadataResponseBroker
}

// discover asks every address given for the brokers of the cluster, all at once.
func (c *Config) discover(ctx context.Context, cl *kgo.Client, met *met) (discovered, error) {
	seeds := cl.SeedBrokers()
	found, err := firstOf(ctx, len(seeds), func(ctx context.Context, i int) (discovered, error) {
		req := kmsg.NewPtrMetadataRequest()
		req.Topics = []kmsg.MetadataRequestTopic{}
		resp, err := seeds[i].Request(ctx, req)
		if err != nil {
			address := "?"
			if i < len(c.Brokers) {
				address = c.Brokers[i]
			}
			return discovered{}, &ConnectError{Address: address, Reason: c.reason(err, met.has(address)), Err: err}
		}
		return discovered{i, resp.(*kmsg.MetadataResponse).Brokers}, nil
	})
	if err == nil && len(found.brokers) == 0 {
		err = errors.New("the cluster has no brokers yet: it may be starting")
	}
	return found, err
}

// reach asks all brokers that the cluster advertises, at once, and waits for one answer.
func (c *Config) reach(ctx context.Context, cl *kgo.Client, brokers []kmsg.MetadataResponseBroker, met *met) error {
	_, err := firstOf(ctx, len(brokers), func(ctx context.Context, i int) (struct{}, error) {
		b := brokers[i]
		_, err := cl.Broker(int(b.NodeID)).Request(ctx, versionsRequest())
		if err != nil {
			address := net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port)))
			err = &ConnectError{
				Address: address,
				Reason:  fmt.Sprintf("%s (this is the address that broker %d advertises)", c.reason(err, met.has(address)), b.NodeID),
				Err:     err,
			}
		}
		return struct{}{}, err
	})
	return err
}

// firstOf calls fn for 0 to n-1 at once and returns the first answer, or the error that tells most if there is none. It
// returns when every call has.
func firstOf[T any](ctx context.Context, n int, fn func(context.Context, int) (T, error)) (answer T, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type result struct {
		answer T
		err    error
	}
	results := make(chan result, n)
	for i := range n {
		go func() {
			a, err := fn(ctx, i)
			results <- result{a, err}
		}()
	}
	found := false
	for range n {
		switch r := <-results; {
		case found:
		case r.err == nil:
			answer, found = r.answer, true
			cancel()
		case err == nil, IsAuthentication(r.err) && !IsAuthentication(err):
			err = r.err
		}
	}
	if found {
		err = nil
	}
	return answer, err
}

func versionsRequest() *kmsg.ApiVersionsRequest {
	req := kmsg.NewPtrApiVersionsRequest()
	req.ClientSoftwareName = "weir"
	req.ClientSoftwareVersion = "1"
	return req
}
