package probe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/weirstream/weir/internal/doctor"
	"github.com/weirstream/weir/internal/kafka"
	"github.com/weirstream/weir/internal/runtime"
)

// cluster is a Kafka that the job uses, and what has been learnt about it.
type cluster struct {
	// source is the step whose own cluster it is, "" for the job's.
	source string
	config kafka.Config
	uses   []use
	// own is the checkpoint topic, "" on a source's own cluster.
	own string

	client  *kgo.Client // nil until it has been reached
	brokers []kmsg.MetadataResponseBroker
	topics  map[string]*topic
}

// topic is a topic as the metadata describe it.
type topic struct {
	doctor.Topic
	// allowed are the operations that we may do, one bit each; known is false if the brokers did not say.
	allowed int32
	known   bool
	// denied: we may not even know whether it exists.
	denied     bool
	partitions []int32
}

func (c *cluster) subject() string {
	if c.source != "" {
		return "cluster of source " + c.source
	}
	return "cluster"
}

// name is the subject, empty for the job's own cluster: as package doctor wants it.
func (c *cluster) name() string {
	if c.source == "" {
		return ""
	}
	return c.subject()
}

// findClusters takes the clusters and what the job does on them out of its graph.
func (e *examination) findClusters() {
	o := &e.config.Checkpoint
	e.home = &cluster{config: e.config.Kafka, own: o.Topic(e.config.Job), topics: map[string]*topic{}}
	e.clusters = []*cluster{e.home}
	for _, n := range e.config.Graph.Nodes {
		switch {
		case n.Source != nil:
			at := e.home
			if n.Source.Kafka != nil {
				at = &cluster{source: n.Name, config: *n.Source.Kafka, topics: map[string]*topic{}}
				e.clusters = append(e.clusters, at)
			}
			from := n.Source.Spec.Kafka
			from.EnsureDefaults()
			for _, t := range from.Topics {
				at.uses = append(at.uses, use{topic: t, step: n.Name, from: &from})
			}
			if t := n.Source.BadRecord.Topic; t != "" {
				e.home.uses = append(e.home.uses, use{topic: t, step: n.Name, sink: true})
			}
		case n.Sink != nil:
			e.home.uses = append(e.home.uses, use{topic: n.Sink.Spec.Kafka.Topic, step: n.Name, sink: true})
			if t := n.Sink.BadRecord.Topic; t != "" {
				e.home.uses = append(e.home.uses, use{topic: t, step: n.Name, sink: true})
			}
		}
	}
}

// connect reaches the cluster, asks for its topics, and then each broker by itself.
func (c *cluster) connect(ctx context.Context) []doctor.Finding {
	client, err := kafka.Dial(ctx, c.config)
	if err != nil {
		f := doctor.Finding{Severity: doctor.Error, Check: "broker", Subject: c.subject(), Text: err.Error(),
			Remedy: "correct kafka.brokers, or start the brokers; what depends on them is not checked"}
		if kafka.IsAuthentication(err) {
			f.Remedy = "correct kafka.sasl or kafka.tls; what depends on the brokers is not checked"
		}
		return []doctor.Finding{f}
	}
	if err := c.describe(ctx, client); err != nil {
		client.Close()
		return []doctor.Finding{{Severity: doctor.Error, Check: "broker", Subject: c.subject(), Text: err.Error(),
			Remedy: "what depends on the brokers is not checked"}}
	}
	c.client = client
	brokers := make([]doctor.Broker, len(c.brokers))
	var wg sync.WaitGroup
	for i, b := range c.brokers {
		wg.Go(func() { brokers[i] = ask(ctx, client, b) })
	}
	wg.Wait()
	return doctor.Brokers(c.name(), brokers)
}

// describe asks for the brokers and the topics, with what we may do to each.
func (c *cluster) describe(ctx context.Context, client *kgo.Client) error {
	req := kmsg.NewPtrMetadataRequest()
	req.AllowAutoTopicCreation = false
	req.IncludeTopicAuthorizedOperations = true
	req.Topics = []kmsg.MetadataRequestTopic{}
	for _, name := range c.names() {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = &name
		req.Topics = append(req.Topics, t)
	}
	resp, err := req.RequestWith(ctx, client)
	if err != nil {
		return fmt.Errorf("asking for topics: %w", err)
	}
	c.brokers = resp.Brokers
	slices.SortFunc(c.brokers, func(a, b kmsg.MetadataResponseBroker) int { return cmp.Compare(a.NodeID, b.NodeID) })
	for i := range resp.Topics {
		if t := &resp.Topics[i]; t.Topic != nil {
			c.topics[*t.Topic] = topicOf(t, len(resp.Brokers))
		}
	}
	return nil
}

// names are the topics of the cluster, each once.
func (c *cluster) names() []string {
	var names []string
	for _, u := range c.uses {
		if !slices.Contains(names, u.topic) {
			names = append(names, u.topic)
		}
	}
	if c.own != "" {
		names = append(names, c.own)
	}
	return names
}

func topicOf(r *kmsg.MetadataResponseTopic, brokers int) *topic {
	t := &topic{Topic: doctor.Topic{Name: *r.Topic, ID: r.TopicID, Partitions: len(r.Partitions), Brokers: brokers}}
	// The smallest number stands for "was not asked, or is not known".
	t.allowed, t.known = r.AuthorizedOperations, r.AuthorizedOperations != -1<<31
	switch err := kerr.ErrorForCode(r.ErrorCode); {
	case errors.Is(err, kerr.UnknownTopicOrPartition):
		t.Missing = true
		return t
	case errors.Is(err, kerr.TopicAuthorizationFailed):
		t.Err, t.denied = err, true
		return t
	case err != nil && !errors.Is(err, kerr.LeaderNotAvailable):
		t.Err = err
		return t
	}
	t.Replicas, t.InSync = 1<<15, 1<<15
	for _, p := range r.Partitions {
		t.partitions = append(t.partitions, p.Partition)
		t.Replicas, t.InSync = min(t.Replicas, len(p.Replicas)), min(t.InSync, len(p.ISR))
		if p.Leader < 0 || p.ErrorCode == kerr.LeaderNotAvailable.Code {
			t.Leaderless = append(t.Leaderless, p.Partition)
		}
	}
	slices.Sort(t.partitions)
	slices.Sort(t.Leaderless)
	return t
}

// ask asks one broker, at the address that it advertises, what it is.
func ask(ctx context.Context, client *kgo.Client, b kmsg.MetadataResponseBroker) doctor.Broker {
	found := doctor.Broker{ID: b.NodeID, Address: net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port)))}
	req := kmsg.NewPtrApiVersionsRequest()
	req.ClientSoftwareName, req.ClientSoftwareVersion = "weir", "1"
	r, err := client.Broker(int(b.NodeID)).RetriableRequest(ctx, req)
	if err != nil {
		found.Err = fmt.Errorf("%s: %w", found.Address, err)
		return found
	}
	resp := r.(*kmsg.ApiVersionsResponse)
	if found.Err = kerr.ErrorForCode(resp.ErrorCode); found.Err != nil {
		return found
	}
	for _, f := range resp.FinalizedFeatures {
		if f.Name == "transaction.version" {
			found.TransactionVersion = int(f.MaxVersionLevel)
		}
	}
	found.Version = kversion.FromApiVersionsResponse(resp).VersionGuess()
	// A guess may say "at least v4.4" or "not even v0.8": only a plain number is compared.
	if _, err := fmt.Sscanf(found.Version, "v%d.%d", &found.Release[0], &found.Release[1]); err != nil {
		found.Release = [2]int{}
	}
	return found
}

// asked are the partitions of the topics that can be asked about, by topic.
func (c *cluster) asked(names ...string) map[string][]int32 {
	out := map[string][]int32{}
	for _, name := range names {
		t := c.topics[name]
		if t == nil || t.Err != nil || t.Missing {
			continue
		}
		for _, p := range t.partitions {
			if !slices.Contains(t.Leaderless, p) {
				out[name] = append(out[name], p)
			}
		}
	}
	return out
}

// Topics are the topics that a job uses on its own cluster, without its checkpoint topic.
func Topics(config *runtime.Config) []string {
	e := &examination{config: config}
	e.findClusters()
	e.home.own = ""
	return e.home.names()
}
