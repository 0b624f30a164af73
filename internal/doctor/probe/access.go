package probe

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/doctor"
	"github.com/weirstream/weir/internal/doctor/txn"
	"github.com/weirstream/weir/internal/kafka"
)

// checkAccess finds out what the job may do. For topics the brokers say it themselves; for the rest a request is sent that is
// refused for another reason, after the authorizer has let it pass.
func (e *examination) checkAccess(ctx context.Context, c *cluster) []doctor.Finding {
	var grants []doctor.Grant
	for _, name := range c.names() {
		grants = append(grants, c.topicGrants(name)...)
	}
	group := e.config.Checkpoint.GroupID(e.config.Job)
	if c.own != "" {
		grants = append(grants, e.transactionGrants(ctx, group)...)
		_, err := c.brokerSettings(ctx)
		grants = append(grants, settled(doctor.Grant{Kind: "cluster", Operation: "DescribeConfigs", For: "transaction.max.timeout.ms, which every start looks up"}, err))
	}
	grants = append(grants, c.groupDescribe(ctx, group, "reading the offset that guards the checkpoint topic"))
	for _, u := range c.uses {
		if u.from != nil && u.from.Start == "group" && u.from.StartGroup != "" && u.from.StartGroup != group {
			grants = append(grants, c.groupDescribe(ctx, u.from.StartGroup, "start: group"))
		}
	}
	return doctor.Access(c.name(), c.config.SASL.Username, grants)
}

// topicGrants are the operations on a topic, once each whatever it is used for.
func (c *cluster) topicGrants(name string) []doctor.Grant {
	t := c.topics[name]
	if t == nil {
		return nil
	}
	var grants []doctor.Grant
	need := func(op kmsg.ACLOperation, what, why string, optional bool) {
		for _, g := range grants {
			if g.Operation == what {
				return
			}
		}
		g := doctor.Grant{Kind: "topic", Name: name, Operation: what, For: why, Optional: optional}
		switch {
		case t.known && !t.denied:
			g.Allowed = t.allowed&(1<<op) != 0
		case !t.denied:
			g.Err = errors.New("the brokers do not say what is allowed")
		}
		grants = append(grants, g)
	}
	for _, u := range c.uses {
		switch {
		case u.topic != name:
		case u.sink:
			need(kmsg.ACLOperationWrite, "Write", "writing results", false)
			need(kmsg.ACLOperationDescribe, "Describe", "finding its partitions", false)
			need(kmsg.ACLOperationDescribeConfigs, "DescribeConfigs", "Kafka's default of max.message.bytes is assumed", true)
		default:
			need(kmsg.ACLOperationRead, "Read", "reading records and committing offsets", false)
			need(kmsg.ACLOperationDescribe, "Describe", "finding its partitions and offsets", false)
		}
	}
	if name == c.own {
		need(kmsg.ACLOperationRead, "Read", "reading pointers", false)
		need(kmsg.ACLOperationWrite, "Write", "writing pointers", false)
		need(kmsg.ACLOperationDescribe, "Describe", "finding its end", false)
		need(kmsg.ACLOperationDescribeConfigs, "DescribeConfigs", "the settings that every start checks", false)
		need(kmsg.ACLOperationDelete, "Delete", "old pointers cannot be deleted, so the topic grows", true)
	}
	if t.denied && len(grants) > 1 {
		// Nothing is allowed, or at least not Describe: one finding is enough.
		for i := range grants {
			if grants[i].Operation == "Describe" {
				grants = grants[i : i+1]
				break
			}
		}
	}
	return grants
}

// transactionGrants tries the slots' IDs with a request for a producer that does not exist. The coordinator refuses it
// without looking further; the authorizer has been asked for Write on the ID and Read on the group by then.
func (e *examination) transactionGrants(ctx context.Context, group string) []doctor.Grant {
	var grants []doctor.Grant
	read := doctor.Grant{Kind: "group", Name: group, Operation: "Read", For: "committing offsets with each checkpoint",
		Err: errors.New("known only when a transactional ID is allowed")}
	for i := range checkpoint.Slots {
		id := e.config.Checkpoint.TransactionalID(e.config.Job, 0, i)
		g := doctor.Grant{Kind: "transactional-id", Name: id, Operation: "Describe", For: "finding its coordinator"}
		described := txn.Describe(ctx, e.home.client, id)[0].Err
		g = settled(g, described)
		grants = append(grants, g)
		if g.Err != nil || !g.Allowed {
			continue
		}
		w := doctor.Grant{Kind: "transactional-id", Name: id, Operation: "Write", For: "writing results and pointers"}
		switch err := e.tryWrite(ctx, id, group); {
		case errors.Is(err, kerr.InvalidProducerIDMapping), errors.Is(err, kerr.InvalidProducerEpoch), errors.Is(err, kerr.ProducerFenced):
			w.Allowed, read.Allowed, read.Err = true, true, nil
		case errors.Is(err, kerr.GroupAuthorizationFailed):
			w.Allowed, read.Allowed, read.Err = true, false, nil
		default:
			w = settled(w, err)
		}
		grants = append(grants, w)
	}
	return append(grants, read)
}

func (e *examination) tryWrite(ctx context.Context, id, group string) error {
	req := kmsg.NewPtrAddOffsetsToTxnRequest()
	req.TransactionalID, req.Group = id, group
	req.ProducerID, req.ProducerEpoch = math.MaxInt64, 0
	resp, err := req.RequestWith(ctx, e.home.client)
	if err != nil {
		return err
	}
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		return err
	}
	return fmt.Errorf("transaction %s: the coordinator took a producer that does not exist", id)
}

// settled makes an answer of an error: none means allowed, one of authorization that it is not, another that nobody knows.
func settled(g doctor.Grant, err error) doctor.Grant {
	switch {
	case err == nil:
		g.Allowed = true
	case kafka.IsAuthorization(err):
	default:
		g.Err = err
	}
	return g
}

func (c *cluster) groupDescribe(ctx context.Context, group, why string) doctor.Grant {
	_, err := kadm.NewClient(c.client).FetchOffsets(ctx, group)
	if errors.Is(err, kerr.GroupIDNotFound) {
		err = nil
	}
	return settled(doctor.Grant{Kind: "group", Name: group, Operation: "Describe", For: why}, err)
}
