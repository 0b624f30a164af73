package probe

import (
	"context"
	"errors"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirstream/weir/internal/doctor"
)

// topicSettings are the settings that are judged.
var topicSettings = []string{
	"cleanup.policy", "retention.ms", "retention.bytes", "min.insync.replicas", "unclean.leader.election.enable",
	"message.timestamp.type", "message.timestamp.before.max.ms", "max.message.bytes",
}

// brokerSettings are those of the brokers.
var brokerSettings = []string{
	"transaction.max.timeout.ms", "transactional.id.expiration.ms", "offsets.retention.minutes",
	"transaction.state.log.replication.factor", "transaction.state.log.min.isr",
}

// settings reads settings of one topic or broker.
func (c *cluster) settings(ctx context.Context, kind kmsg.ConfigResourceType, name string, wanted []string) (map[string]string, error) {
	req := kmsg.NewPtrDescribeConfigsRequest()
	r := kmsg.NewDescribeConfigsRequestResource()
	r.ResourceType, r.ResourceName, r.ConfigNames = kind, name, wanted
	req.Resources = append(req.Resources, r)
	out := map[string]string{}
	for _, shard := range c.client.RequestSharded(ctx, req) {
		if shard.Err != nil {
			return nil, shard.Err
		}
		for _, r := range shard.Resp.(*kmsg.DescribeConfigsResponse).Resources {
			if err := kerr.ErrorForCode(r.ErrorCode); err != nil {
				return nil, err
			}
			for _, s := range r.Configs {
				if s.Value != nil {
					out[s.Name] = *s.Value
				}
			}
		}
	}
	return out, nil
}

// brokerSettings asks one broker after the other until one answers: they are meant to be the same everywhere.
func (c *cluster) brokerSettings(ctx context.Context) (map[string]string, error) {
	err := errors.New("the cluster has no brokers")
	for _, b := range c.brokers {
		var s map[string]string
		if s, err = c.settings(ctx, kmsg.ConfigResourceTypeBroker, strconv.Itoa(int(b.NodeID)), brokerSettings); err == nil {
			return s, nil
		}
		if errors.Is(err, kerr.ClusterAuthorizationFailed) {
			break
		}
	}
	return nil, err
}

func (e *examination) checkSettings(ctx context.Context) []doctor.Finding {
	values, err := e.home.brokerSettings(ctx)
	return doctor.Settings(&doctor.BrokerSettings{Values: values, Err: err, Brokers: len(e.home.brokers)}, &e.config.Checkpoint)
}

// creating asks whether the brokers would make the checkpoint topic, without making it.
func (e *examination) creating(ctx context.Context) error {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.ValidateOnly = true
	req.TimeoutMillis = int32(e.opts.Timeout.Milliseconds())
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = e.home.own, 1, int16(e.config.Checkpoint.TopicReplication)
	req.Topics = append(req.Topics, t)
	resp, err := req.RequestWith(ctx, e.home.client)
	if err != nil {
		return err
	}
	for _, t := range resp.Topics {
		if err := kerr.ErrorForCode(t.ErrorCode); err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
			if t.ErrorMessage != nil && *t.ErrorMessage != "" {
				return errors.New(*t.ErrorMessage)
			}
			return err
		}
	}
	return nil
}
