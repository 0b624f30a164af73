package kafka

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// callTimeout is the deadline of a call whose caller has set none.
const callTimeout = 15 * time.Second

// Cluster answers questions about a cluster, over a client that its maker keeps. It caches nothing and is safe for
// concurrent use.
type Cluster struct{ cl *kgo.Client }

// NewCluster uses cl, which it does not close.
func NewCluster(cl *kgo.Client) *Cluster { return &Cluster{cl} }

// WithDeadline returns ctx with a deadline of d unless it has one that is earlier.
func WithDeadline(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, d)
}

// Features are the finalized features of a cluster and their levels: what the cluster has agreed to use, which is less than
// what its brokers are able to do.
type Features map[string]int16

// TransactionVersion is the level of transaction.version: 0 and 1 want the older requests of transactions, 2 allows the
// newer ones (KIP-890). A request newer than the level is not only refused: it leaves the transaction open for good.
func (f Features) TransactionVersion() int { return int(f["transaction.version"]) }

// Features asks every broker and returns the lowest level of each feature that any of them names. Brokers that do not
// answer are left out, unless none does.
func (c *Cluster) Features(ctx context.Context) (Features, error) {
	ctx, cancel := WithDeadline(ctx, callTimeout)
	defer cancel()
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{}
	metadata, err := req.RequestWith(ctx, c.cl)
	if err != nil {
		return nil, fmt.Errorf("asking for the brokers: %w", err)
	}
	var (
		mu      sync.Mutex
		wg      sync.WaitGroup
		lowest  Features
		problem error
	)
	for _, b := range metadata.Brokers {
		wg.Go(func() {
			f, err := c.featuresOf(ctx, b.NodeID)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				problem = fmt.Errorf("asking broker %d for its features: %w", b.NodeID, err)
				return
			}
			lowest = lowestOf(lowest, f)
		})
	}
	wg.Wait()
	if lowest == nil {
		if problem == nil {
			problem = errors.New("the cluster has no brokers yet: it may be starting")
		}
		return nil, problem
	}
	return lowest, nil
}

func (c *Cluster) featuresOf(ctx context.Context, broker int32) (Features, error) {
	// One broker that hangs must not use up the time of all: the others' word is enough.
	patience := callTimeout / 3
	if deadline, ok := ctx.Deadline(); ok {
		patience = min(patience, time.Until(deadline)/3)
	}
	ctx, cancel := WithDeadline(ctx, patience)
	defer cancel()
	r, err := c.cl.Broker(int(broker)).RetriableRequest(ctx, versionsRequest())
	if err != nil {
		return nil, err
	}
	resp := r.(*kmsg.ApiVersionsResponse)
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		return nil, err
	}
	f := Features{}
	for _, feature := range resp.FinalizedFeatures {
		f[feature.Name] = feature.MaxVersionLevel
	}
	return f, nil
}

func lowestOf(a, b Features) Features {
	if a == nil {
		return b
	}
	for name := range a {
		a[name] = min(a[name], b[name])
	}
	return a
}

// MaxTransactionTimeout is the brokers' transaction.max.timeout.ms: a longer transaction timeout is refused.
func (c *Cluster) MaxTransactionTimeout(ctx context.Context) (time.Duration, error) {
	ctx, cancel := WithDeadline(ctx, callTimeout)
	defer cancel()
	brokers := kmsg.NewPtrMetadataRequest()
	brokers.Topics = []kmsg.MetadataRequestTopic{}
	metadata, err := brokers.RequestWith(ctx, c.cl)
	if err != nil {
		return 0, fmt.Errorf("asking for the brokers: %w", err)
	}
	const key = "transaction.max.timeout.ms"
	var problem error
	for _, b := range metadata.Brokers {
		configs, err := c.configs(ctx, kmsg.ConfigResourceTypeBroker, strconv.Itoa(int(b.NodeID)), key)
		if err != nil {
			problem = err
			continue
		}
		ms, err := strconv.ParseInt(configs[key], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("broker %d: %s is %q", b.NodeID, key, configs[key])
		}
		return time.Duration(ms) * time.Millisecond, nil
	}
	return 0, fmt.Errorf("asking for %s: %w", key, problem)
}

// configs reads the settings of one resource, all of them if no name is given.
func (c *Cluster) configs(ctx context.Context, kind kmsg.ConfigResourceType, name string, names ...string) (map[string]string, error) {
	req := kmsg.NewPtrDescribeConfigsRequest()
	resource := kmsg.NewDescribeConfigsRequestResource()
	resource.ResourceType = kind
	resource.ResourceName = name
	resource.ConfigNames = names
	req.Resources = append(req.Resources, resource)
	resp, err := req.RequestWith(ctx, c.cl)
	if err != nil {
		return nil, fmt.Errorf("settings of %s: %w", name, err)
	}
	out := make(map[string]string, len(names))
	for _, r := range resp.Resources {
		if err := kerr.ErrorForCode(r.ErrorCode); err != nil {
			return nil, fmt.Errorf("settings of %s: %w", name, err)
		}
		for _, entry := range r.Configs {
			if entry.Value != nil {
				out[entry.Name] = *entry.Value
			}
		}
	}
	return out, nil
}
