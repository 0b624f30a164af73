package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/urfave/cli/v2"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/kafka"
)

func (p *program) readTopic() *cli.Command {
	return &cli.Command{
		Name: "read", Usage: "print a topic as a read_committed reader sees it, one JSON object a line, with the headers of records that have any", ArgsUsage: "TOPIC",
		Flags: []cli.Flag{brokersFlag(),
			&cli.IntFlag{Name: "count", Usage: "end after `N` records; 0 for no limit"},
			&cli.BoolFlag{Name: "follow", Usage: "wait for more at the end of the topic", DisableDefaultText: true},
		},
		Action: func(c *cli.Context) error {
			if c.NArg() != 1 {
				return usagef("read: name one topic")
			}
			config, err := cluster(c)
			if err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(c.Context, os.Interrupt, syscall.SIGTERM)
			defer stop()
			return p.printTopic(ctx, config, c.Args().First(), c.Int("count"), c.Bool("follow"))
		},
	}
}

func (p *program) printTopic(ctx context.Context, config kafka.Config, topic string, count int, follow bool) error {
	cl, err := kafka.Dial(ctx, config, kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.DisableFetchSessions(), kgo.KeepControlRecords())
	if err != nil {
		return err
	}
	defer cl.Close()
	cluster := kafka.NewCluster(cl)
	if _, err := cluster.Topic(ctx, topic); err != nil {
		return err
	}
	left, err := spans(ctx, cluster, topic)
	if err != nil {
		return err
	}
	if len(left) == 0 && !follow {
		return nil
	}
	parts := map[int32]kgo.Offset{}
	if follow {
		// Partitions that are empty now may not stay so.
		cl.AddConsumeTopics(topic)
	} else {
		for partition := range left {
			parts[partition] = kgo.NewOffset().AtStart()
		}
		cl.AddConsumePartitions(map[string]map[int32]kgo.Offset{topic: parts})
	}
	out := bufio.NewWriter(p.stdout)
	defer out.Flush()
	for n := 0; ; {
		fetches := cl.PollFetches(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err := fetches.Err(); err != nil {
			return fmt.Errorf("topic %s: %w", topic, err)
		}
		for it := fetches.RecordIter(); !it.Done(); {
			r := it.Next()
			if !r.Attrs.IsControl() {
				if !follow && r.Offset >= left[r.Partition] && left[r.Partition] > 0 {
					continue
				}
				printRecord(out, r)
				if n++; n == count {
					return nil
				}
			}
			if end, ok := left[r.Partition]; ok && r.Offset+1 >= end {
				delete(left, r.Partition)
			}
		}
		if err := out.Flush(); err != nil {
			return err
		}
		if len(left) == 0 && !follow {
			return nil
		}
	}
}

// spans returns the end of what can be read now, for each partition that has anything.
func spans(ctx context.Context, cluster *kafka.Cluster, topic string) (map[int32]int64, error) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	logs, err := cluster.Logs(ctx, topic)
	left := map[int32]int64{}
	for partition, log := range logs[topic] {
		if log.Stable > log.Start {
			left[partition] = log.Stable
		}
	}
	return left, err
}

// printRecord writes one record as JSON; a value that is JSON stays what it is, other bytes become a string.
func printRecord(out *bufio.Writer, r *kgo.Record) {
	line := struct {
		Partition int32           `json:"partition"`
		Offset    int64           `json:"offset"`
		Timestamp string          `json:"timestamp"`
		Headers   headers         `json:"headers,omitempty"`
		Key       json.RawMessage `json:"key"`
		Value     json.RawMessage `json:"value"`
	}{r.Partition, r.Offset, checkpoint.TimeText(r.Timestamp.UnixMilli()), r.Headers, quoted(r.Key), nil}
	if line.Value = r.Value; !json.Valid(r.Value) {
		line.Value = quoted(r.Value)
	}
	b, err := json.Marshal(line)
	if err != nil {
		err = errors.Join(err)
		b = []byte(err.Error())
	}
	out.Write(b)
	out.WriteByte('\n')
}

// headers print as an object of strings, in their order; of one name that comes twice, both.
type headers []kgo.RecordHeader

// MarshalJSON implements [json.Marshaler].
func (h headers) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, header := range h {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, quoted([]byte(header.Key))...), ':'), quoted(header.Value)...)
	}
	return append(b, '}'), nil
}

func quoted(b []byte) json.RawMessage {
	if b == nil {
		return json.RawMessage("null")
	}
	s := string(b)
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\ufffd")
	}
	q, err := json.Marshal(s)
	if err != nil {
		return json.RawMessage(`"?"`)
	}
	return q
}
