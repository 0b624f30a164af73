package savepoint

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/kafka"
)

// OffsetEdit is one --set-offset: TOPIC/PARTITION=N, TOPIC=earliest, latest or timestamp:TIME; SOURCE: in front means the
// splits of one source only.
type OffsetEdit struct {
	text          string
	Source, Topic string
	// Partition is -1 for all.
	Partition int32
	// At is offset, earliest, latest or timestamp.
	At     string
	Offset int64
	Time   time.Time
}

// ParseOffset reads an OffsetEdit.
func ParseOffset(text string) (OffsetEdit, error) {
	e := OffsetEdit{text: text, Partition: -1}
	bad := func(what string) (OffsetEdit, error) {
		return e, editf("set-offset %s: %s: want TOPIC/PARTITION=OFFSET, or TOPIC= or TOPIC/PARTITION= and an offset, earliest, latest or timestamp:TIME", text, what)
	}
	split, at, ok := strings.Cut(text, "=")
	if !ok {
		return bad("there is no =")
	}
	if source, rest, found := strings.Cut(split, ":"); found {
		e.Source, split = source, rest
	}
	topic, partition, one := strings.Cut(split, "/")
	e.Topic = topic
	if topic == "" {
		return bad("there is no topic")
	}
	if one {
		n, err := strconv.ParseInt(partition, 10, 32)
		if err != nil || n < 0 {
			return bad(fmt.Sprintf("%q is no partition", partition))
		}
		e.Partition = int32(n)
	}
	switch stamp, timed := strings.CutPrefix(at, "timestamp:"); {
	case timed:
		t, err := time.Parse(time.RFC3339, stamp)
		if err != nil {
			return bad(fmt.Sprintf("%q is no time like 2026-11-30T10:00:00Z", stamp))
		}
		e.At, e.Time = "timestamp", t
	case at == "earliest", at == "latest":
		e.At = at
	default:
		n, err := strconv.ParseInt(at, 10, 64)
		if err != nil {
			return bad(fmt.Sprintf("%q is no offset", at))
		}
		e.At, e.Offset = "offset", n
	}
	return e, nil
}

// Logs answers what the logs of topics have.
type Logs interface {
	// Topic returns the ID of a topic and where the logs of its partitions are; a time that is zero is not asked for.
	Topic(ctx context.Context, name string, at time.Time) (checkpoint.TopicID, map[int32]kafka.Log, error)
}

// ClusterLogs asks a cluster.
type ClusterLogs struct{ Client *kgo.Client }

// Topic implements [Logs].
func (c ClusterLogs) Topic(ctx context.Context, name string, at time.Time) (checkpoint.TopicID, map[int32]kafka.Log, error) {
	cluster := kafka.NewCluster(c.Client)
	topic, err := cluster.Topic(ctx, name)
	if err != nil {
		return checkpoint.TopicID{}, nil, err
	}
	logs, err := cluster.LogsAt(ctx, at, name)
	return topic.ID, logs[name], err
}

// resolve turns what was asked for into offsets, and adds what the logs have.
func resolve(ctx context.Context, p *checkpoint.Pointer, o RewriteOptions, edits *checkpoint.Edits) error {
	edits.SetOffset = map[checkpoint.SplitKey]int64{}
	edits.Log = map[checkpoint.SplitKey]checkpoint.LogRange{}
	edits.TopicIDs = map[string]checkpoint.TopicID{}
	var errs []error
	set := map[checkpoint.SplitKey]string{} // by what
	for _, e := range o.Offsets {
		if e.At != "offset" && o.Clusters == nil {
			errs = append(errs, fmt.Errorf("set-offset %s: which offset that is, brokers have to say: give --brokers, or --job with the job's file", e.text))
			continue
		}
		found := false
		for _, src := range p.Sources {
			if e.Source != "" && e.Source != src.Name {
				continue
			}
			moved, err := e.apply(ctx, src, o.Clusters, edits)
			if err != nil {
				return err
			}
			for _, s := range src.Splits {
				if !e.means(s) {
					continue
				}
				key := checkpoint.SplitKey{Source: src.Name, Topic: s.Topic, Partition: s.Partition}
				if before := set[key]; before != "" && before != e.text {
					errs = append(errs, fmt.Errorf("set-offset %s: set-offset %s sets %s already", e.text, before, key))
				}
				set[key] = e.text
			}
			found = found || moved
		}
		if !found {
			// A split that is not there: checkpoint.Rewrite says which are.
			edits.SetOffset[checkpoint.SplitKey{Source: e.Source, Topic: e.Topic, Partition: max(e.Partition, 0)}] = max(e.Offset, 0)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return &EditError{err}
	}
	return nil
}

// means reports whether the edit is about a split of a source that it means.
func (e *OffsetEdit) means(s checkpoint.Split) bool {
	return s.Topic == e.Topic && (e.Partition < 0 || e.Partition == s.Partition)
}

// apply resolves an edit for the splits of one source. moved is false if the source has none that it means.
func (e *OffsetEdit) apply(ctx context.Context, src checkpoint.Source, clusters func(context.Context, string) (Logs, error), edits *checkpoint.Edits) (moved bool, err error) {
	var id checkpoint.TopicID
	var logs map[int32]kafka.Log
	for _, s := range src.Splits {
		if !e.means(s) {
			continue
		}
		moved = true
		if clusters != nil && logs == nil {
			asked, err := clusters(ctx, src.Name)
			if err != nil {
				return true, err
			}
			if id, logs, err = asked.Topic(ctx, e.Topic, e.Time); err != nil {
				return true, err
			}
			if s.TopicID != (checkpoint.TopicID{}) && id != (checkpoint.TopicID{}) && id != s.TopicID {
				edits.TopicIDs[e.Topic] = id
			}
		}
		key := checkpoint.SplitKey{Source: src.Name, Topic: s.Topic, Partition: s.Partition}
		at := e.Offset
		if logs != nil {
			log, ok := logs[s.Partition]
			if !ok {
				return true, editf("set-offset %s: topic %s has only %d partitions", e.text, e.Topic, len(logs))
			}
			edits.Log[key] = checkpoint.LogRange{Start: log.Start, End: log.End}
			switch e.At {
			case "earliest":
				at = log.Start
			case "latest":
				at = log.Stable
			case "timestamp":
				at = log.At
			}
		}
		edits.SetOffset[key] = at
	}
	return moved, nil
}
