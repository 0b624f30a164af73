package offsets

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/internal/kafka"
)

// Cluster asks a cluster. Deadlines are the contexts'.
type Cluster struct {
	admin   *kadm.Client
	cluster *kafka.Cluster
}

// NewCluster uses cl, which it does not close.
func NewCluster(cl *kgo.Client) *Cluster {
	return &Cluster{kadm.NewClient(cl), kafka.NewCluster(cl)}
}

// Committed returns what a group has committed; nothing if there is no such group.
func (c *Cluster) Committed(ctx context.Context, group string) (map[Partition]Committed, error) {
	// A cluster without any group makes the topic of their offsets at the first question.
	responses, err := c.admin.FetchOffsets(ctx, group)
	for backoff := (kafka.Backoff{}); kafka.IsRetriable(err) && backoff.Wait(ctx); {
		responses, err = c.admin.FetchOffsets(ctx, group)
	}
	if errors.Is(err, kerr.GroupIDNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("group %s: %w", group, err)
	}
	out := map[Partition]Committed{}
	for _, r := range responses.Sorted() {
		if r.Err != nil {
			return nil, fmt.Errorf("group %s: topic %s partition %d: %w", group, r.Topic, r.Partition, r.Err)
		}
		if r.At >= 0 {
			out[Partition{r.Topic, r.Partition}] = Committed{r.At, r.Metadata}
		}
	}
	return out, nil
}

// Topics describes topics; those that do not exist are nil.
func (c *Cluster) Topics(ctx context.Context, names ...string) (map[string]*Topic, error) {
	out := map[string]*Topic{}
	there, err := c.cluster.Existing(ctx, names...)
	if err != nil {
		return nil, err
	}
	logs, err := c.cluster.Logs(ctx, slices.Collect(maps.Keys(there))...)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		out[name] = nil
		if t, ok := there[name]; ok {
			out[name] = &Topic{ID: t.ID, Logs: logs[name]}
		}
	}
	return out, nil
}

// Logs flattens topics.
func Logs(topics map[string]*Topic) map[Partition]kafka.Log {
	out := map[Partition]kafka.Log{}
	for name, t := range topics {
		if t == nil {
			continue
		}
		for p, log := range t.Logs {
			out[Partition{name, p}] = log
		}
	}
	return out
}

// Members returns the active members of a group, of either protocol.
func (c *Cluster) Members(ctx context.Context, group string) ([]Member, error) {
	var out []Member
	classic, err := c.admin.DescribeGroups(ctx, group)
	if err == nil {
		err = classic[group].Err
	}
	for _, m := range classic[group].Members {
		out = append(out, Member{m.MemberID, m.ClientID, m.ClientHost})
	}
	if len(out) > 0 {
		return out, nil
	}
	if err != nil && !errors.Is(err, kerr.GroupIDNotFound) {
		return nil, fmt.Errorf("group %s: %w", group, err)
	}
	// A broker answers for groups of the protocol of KIP-848 here only, and one that does not know it has none.
	newer, err := c.admin.DescribeConsumerGroups(ctx, group)
	if kafka.IsAuthorization(err) {
		return nil, fmt.Errorf("group %s: %w", group, err)
	}
	for _, m := range newer[group].Members {
		out = append(out, Member{m.MemberID, m.ClientID, m.ClientHost})
	}
	return out, nil
}

// Commit sets a group's offsets. A group that has got a member meanwhile refuses by itself.
func (c *Cluster) Commit(ctx context.Context, group string, changes []Change) error {
	offsets := kadm.Offsets{}
	for _, ch := range changes {
		offsets.Add(kadm.Offset{Topic: ch.Topic, Partition: ch.Partition, At: ch.After, LeaderEpoch: ch.LeaderEpoch})
	}
	responses, err := c.admin.CommitOffsets(ctx, group, offsets)
	if err != nil {
		return fmt.Errorf("group %s: %w", group, err)
	}
	var errs []error
	for _, r := range responses.Sorted() {
		switch {
		case errors.Is(r.Err, kerr.UnknownMemberID):
			return fmt.Errorf("group %s has got a member meanwhile: stop it first", group)
		case r.Err != nil:
			errs = append(errs, fmt.Errorf("group %s: topic %s partition %d: %w", group, r.Topic, r.Partition, r.Err))
		}
	}
	return errors.Join(errs...)
}

// TopicsOf are the topics in what a group has committed.
func TopicsOf(committed map[Partition]Committed) []string {
	names := map[string]bool{}
	for p := range committed {
		names[p.Topic] = true
	}
	return slices.Sorted(maps.Keys(names))
}
