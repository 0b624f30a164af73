package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/dustin/go-humanize/english"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/weirstream/weir/internal/kafka"
)

// grownTopics are the arguments of add-partitions. Unlike for create, each has to say a number: the one that is made up
// for a new topic would mean nothing here.
func grownTopics(args []string) ([]topicSpec, error) {
	for _, arg := range args {
		if !strings.Contains(arg, ":") {
			return nil, usagef("topics add-partitions: %q: want TOPIC:PARTITIONS, how many it has afterwards", arg)
		}
	}
	return topicSpecs("add-partitions", args)
}

// addPartitions gives topics the partitions that they lack. It looks at all of them before it changes one.
func (p *program) addPartitions(ctx context.Context, admin *kadm.Client, specs []topicSpec) error {
	names := make([]string, len(specs))
	for i, s := range specs {
		names[i] = s.name
	}
	details, err := admin.ListTopics(ctx, names...)
	if err != nil {
		return err
	}
	for _, s := range specs {
		d := details[s.name]
		if errors.Is(d.Err, kerr.UnknownTopicOrPartition) {
			return &kafka.TopicError{Topic: s.name, Err: kafka.ErrNoTopic}
		}
		if d.Err != nil {
			return &kafka.TopicError{Topic: s.name, Err: d.Err}
		}
		if len(d.Partitions) > int(s.partitions) {
			return usagef("topics add-partitions: topic %s has %d partitions: there is no taking away", s.name, len(d.Partitions))
		}
	}
	for _, s := range specs {
		before := len(details[s.name].Partitions)
		if before == int(s.partitions) {
			fmt.Fprintf(p.stdout, "topic %s has %s\n", s.name, english.Plural(before, "partition", ""))
			continue
		}
		answers, err := admin.UpdatePartitions(ctx, int(s.partitions), s.name)
		if err == nil {
			err = answers.Error()
		}
		if err != nil {
			return fmt.Errorf("topic %s: %w", s.name, err)
		}
		fmt.Fprintf(p.stdout, "topic %s has %s, %d before\n", s.name, english.Plural(int(s.partitions), "partition", ""), before)
	}
	return nil
}
