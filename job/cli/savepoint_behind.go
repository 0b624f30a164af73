package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/kafka"
	"github.com/weirstream/weir/internal/offsets"
)

// splitBehind is what lies behind the offset of a split, as of now.
type splitBehind struct {
	Source    string `json:"source"`
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
	// End is the end of the log, Records the offsets up to it, or to where the split ends: at most so many records. Nil if
	// they mean nothing.
	End     *int64 `json:"end,omitempty"`
	Records *int64 `json:"records,omitempty"`
	Note    string `json:"note,omitempty"`
}

// behind asks the brokers that --brokers or --job name, for each split in the order of the pointer; nil if neither is given.
func (p *program) behind(ctx context.Context, c *cli.Context, ptr *checkpoint.Pointer) ([]splitBehind, error) {
	if c.String("brokers") == "" && c.String("job") == "" {
		return nil, nil
	}
	main, config, _, err := p.clusterOf(c)
	if err != nil {
		return nil, err
	}
	topics := map[string]map[string]*offsets.Topic{} // by source
	for name, g := range byCluster(ptr.Sources, ownClusters(config)) {
		if name == "" {
			g.config = main
		}
		found, err := topicsOf(ctx, g)
		if err != nil {
			return nil, err
		}
		for _, src := range g.sources {
			topics[src.Name] = found
		}
	}
	out := []splitBehind{}
	for _, src := range ptr.Sources {
		for _, s := range src.Splits {
			b := splitBehind{Source: src.Name, Topic: s.Topic, Partition: s.Partition, Offset: s.Offset}
			b.judge(s, topics[src.Name][s.Topic])
			out = append(out, b)
		}
	}
	return out, nil
}

// judge compares a split with its topic as it is now, nil if it is not there.
func (b *splitBehind) judge(s checkpoint.Split, t *offsets.Topic) {
	if t == nil {
		b.Note = "the topic is not there"
		return
	}
	if !t.Same(s.TopicID) {
		b.Note = "the topic was deleted and made again"
		return
	}
	log, ok := t.Logs[s.Partition]
	if !ok {
		b.Note = "the partition is not there"
		return
	}
	end := log.End
	if s.Stop >= 0 {
		end = min(end, s.Stop)
	}
	b.End, b.Records = new(log.End), new(max(0, end-max(s.Offset, log.Start)))
	switch {
	case s.Offset < log.Start:
		b.Note = fmt.Sprintf("%d are gone: the log starts at %d", log.Start-s.Offset, log.Start)
	case s.Offset > log.End:
		b.Note = "the offset is behind the end of the log"
	}
}

// topicsOf describes the topics that sources of one cluster read.
func topicsOf(ctx context.Context, g sourceGroup) (map[string]*offsets.Topic, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, 30*time.Second, errors.New("the brokers did not answer within 30s"))
	defer cancel()
	cl, err := kafka.Dial(ctx, g.config)
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	return offsets.NewCluster(cl).Topics(ctx, topicNames(g.sources)...)
}
