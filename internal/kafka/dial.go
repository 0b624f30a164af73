package kafka

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Dial makes a client and waits until the cluster has answered it: an address given resolves and connects, authentication
// passes, and at least one broker that the cluster advertises can be reached. It ends within c.StartTimeout. What cannot
// be reached is a [*ConnectError], one line that names the address and the cause; wrong credentials are marked
// [ErrAuthentication]. The caller closes the client. Options in extra win over those of the settings.
func Dial(ctx context.Context, c Config, extra ...kgo.Opt) (*kgo.Client, error) {
	opts, err := c.Options()
	if err != nil {
		return nil, err
	}
	c.Brokers = append([]string(nil), c.Brokers...)
	c.EnsureDefaults()
	cl, err := kgo.NewClient(append(opts, extra...)...)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.StartTimeout)
	defer cancel()
	if err := c.reach(ctx, cl); err != nil {
		cl.Close()
		return nil, err
	}
	return cl, nil
}

// reach asks every address given for the brokers of the cluster, all at once, and then asks those.
func (c *Config) reach(ctx context.Context, cl *kgo.Client) error {
	seeds := cl.SeedBrokers()
	metadata, err := firstOf(ctx, len(seeds), func(ctx context.Context, i int) (*kmsg.MetadataResponse, error) {
		req := kmsg.NewPtrMetadataRequest()
		req.Topics = []kmsg.MetadataRequestTopic{}
		resp, err := seeds[i].Request(ctx, req)
		if err != nil {
			address := "?"
			if i < len(c.Brokers) {
				address = c.Brokers[i]
			}
			return nil, &ConnectError{Address: address, Reason: c.reason(err), Err: err}
		}
		return resp.(*kmsg.MetadataResponse), nil
	})
	if err != nil {
		return err
	}
	if len(metadata.Brokers) == 0 {
		return errors.New("the cluster has no brokers yet: it may be starting")
	}
	_, err = firstOf(ctx, len(metadata.Brokers), func(ctx context.Context, i int) (struct{}, error) {
		b := metadata.Brokers[i]
		_, err := cl.Broker(int(b.NodeID)).Request(ctx, versionsRequest())
		if err != nil {
			err = &ConnectError{
				Address: net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port))),
				Reason:  fmt.Sprintf("%s (this is the address that broker %d advertises)", c.reason(err), b.NodeID),
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
