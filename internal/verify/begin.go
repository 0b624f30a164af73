package verify

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/kafka"
	"github.com/weirstream/weir/internal/runtime"
	"github.com/weirstream/weir/pebblestate"
	"github.com/weirstream/weir/sink"
)

// beginning is where the verification begins.
type beginning struct {
	// offsets are the first ones to read.
	offsets map[splitKey]int64
	// savepoint is the pointer in the savepoint's manifest, nil without one; files hold its state.
	savepoint *checkpoint.Pointer
	files     *checkpoint.Files
	// checkpoint is where that is, 0 if it is not known.
	checkpoint int64
}

type splitKey struct {
	source, topic string
	partition     int32
}

// findBeginning finds out where the lineage of p0 began: from a savepoint, or where its first pointer says, or where the
// options of its sources say.
func findBeginning(ctx context.Context, job *Job, o *Options, p0 *checkpoint.Pointer, cl *kgo.Client) (*beginning, error) {
	from := o.From
	if from == "" {
		from = p0.StateFrom()
	}
	if from != "" {
		return fromSavepoint(ctx, job, from, p0)
	}
	b := &beginning{offsets: map[splitKey]int64{}}
	first, err := firstPointer(ctx, job, p0, cl)
	if err != nil {
		return nil, err
	}
	if first != nil {
		b.checkpoint = first.Checkpoint
		b.take(first)
		return b, droppedSince(job, first, p0)
	}
	if err := droppedSince(job, &checkpoint.Pointer{}, p0); err != nil {
		return nil, err
	}
	if p0.OffsetsFrom() != "" {
		return nil, refuse("", "the lineage began with the offsets of %s and empty state, and the topic has its first checkpoint no more: give --from a savepoint that is newer", p0.From)
	}
	if began, _, _ := strings.Cut(p0.Request, "#"); began == "start" {
		b.checkpoint = 1 // IDs are dense, and this is the job's first lineage
	}
	for _, n := range job.Graph.Nodes {
		if n.Source != nil {
			if err := b.resolve(ctx, job, o, n); err != nil {
				return nil, fmt.Errorf("source %s: %w", n.Name, err)
			}
		}
	}
	return b, nil
}

func (b *beginning) take(p *checkpoint.Pointer) {
	for _, s := range p.Sources {
		for _, sp := range s.Splits {
			b.offsets[splitKey{s.Name, sp.Topic, sp.Partition}] = sp.Offset
		}
	}
}

// looked is how many pointers are looked at for the first one of a lineage.
const looked = 1000

// firstPointer is the first pointer of the lineage, if the topic still has it.
func firstPointer(ctx context.Context, job *Job, p0 *checkpoint.Pointer, cl *kgo.Client) (*checkpoint.Pointer, error) {
	log, err := sink.NewPointerLog(cl, sink.LogConfig{Topic: job.Checkpoint.Topic(job.Name), Group: job.Checkpoint.GroupID(job.Name)})
	if err != nil {
		return nil, err
	}
	logged, err := log.List(ctx, looked)
	if err != nil {
		return nil, err
	}
	var oldest *checkpoint.Pointer
	for _, l := range logged {
		p, err := checkpoint.DecodePointer(l.Value)
		if err != nil {
			return nil, fmt.Errorf("topic %s offset %d: %w", log.Topic(), l.Offset, err)
		}
		if p.Lineage != p0.Lineage {
			if oldest != nil && oldest.First && oldest.File == nil {
				return oldest, nil
			}
			return nil, nil
		}
		oldest = p
	}
	if oldest != nil && oldest.Checkpoint == 1 && oldest.First && oldest.File == nil {
		return oldest, nil
	}
	return nil, nil
}

// resolve finds out where a source began by its options, as far as that is the same at any time.
func (b *beginning) resolve(ctx context.Context, job *Job, o *Options, n *runtime.Node) error {
	opts := n.Source.Spec.Kafka
	opts.EnsureDefaults()
	why := ""
	switch opts.Start {
	case "latest":
		why = "where the input ended when the job was first started"
	case "group":
		why = "what its group had committed when the job was first started"
	}
	if why != "" && !o.LogStart {
		return refuse("", "source %s began at %s (start: %s), which no checkpoint says any more: give --from a savepoint", n.Name, why, opts.Start)
	}
	config := job.Kafka
	if n.Source.Kafka != nil {
		config = *n.Source.Kafka
	}
	cl, err := kafka.Dial(ctx, config)
	if err != nil {
		return err
	}
	defer cl.Close()
	var at time.Time
	if opts.Start == "timestamp" && !o.LogStart {
		at = opts.StartTimestamp
	}
	logs, err := kafka.NewCluster(cl).LogsAt(ctx, at, opts.Topics...)
	if err != nil {
		return err
	}
	for _, topic := range slices.Sorted(maps.Keys(logs)) {
		for _, partition := range slices.Sorted(maps.Keys(logs[topic])) {
			log := logs[topic][partition]
			offset, exact := log.Start, log.Start == 0
			if listed, ok := opts.StartOffsets[topic][partition]; ok {
				offset, exact = listed, listed >= log.Start
			}
			if !at.IsZero() {
				offset, exact = log.At, log.At > log.Start || log.Start == 0
			}
			if !exact && !o.LogStart {
				return refuse("", "the beginning of the input may be gone: topic %s partition %d begins at offset %d: if the job began there say --log-start, else give --from a savepoint",
					topic, partition, log.Start)
			}
			b.offsets[splitKey{n.Name, topic, partition}] = max(offset, log.Start)
		}
	}
	return nil
}

// fromSavepoint begins from a savepoint of the job, whose state the loop goes on with.
func fromSavepoint(ctx context.Context, job *Job, from string, p0 *checkpoint.Pointer) (*beginning, error) {
	if strings.HasPrefix(from, checkpoint.FromCheckpointPrefix) {
		return nil, refuse("", "the job began anew from %s, whose files may be gone: give --from a savepoint that is newer", from)
	}
	m, files, err := checkpoint.OpenSavepoint(ctx, from, nil)
	if err != nil {
		return nil, err
	}
	p := m.Pointer
	b := &beginning{offsets: map[splitKey]int64{}, savepoint: p, files: files, checkpoint: p.Checkpoint}
	began, _, _ := strings.Cut(p0.Request, "#")
	// A job may have begun from a savepoint of another one: a copy beside it.
	begins := p.Lineage == p0.Lineage || began == (checkpoint.Request{Kind: checkpoint.RequestFrom, ID: m.ID}).String()
	switch {
	case !begins && p.Job != job.Name:
		err = refuse("", "savepoint %s is of job %q", from, p.Job)
	case !begins:
		err = refuse("", "savepoint %s is of another history of the job than what runs now, which began with %s", from, p0.Request)
	case p.Lineage == p0.Lineage && p.Checkpoint > p0.Checkpoint:
		err = refuse("", "savepoint %s is newer than the last checkpoint", from)
	default:
		err = droppedSince(job, p, p0)
	}
	if err != nil {
		return nil, errors.Join(err, files.Store().Close())
	}
	b.take(p)
	return b, nil
}

// droppedSince refuses a range in which state of an operator was dropped: the loop would go on with it.
func droppedSince(job *Job, begin, last *checkpoint.Pointer) error {
	for _, id := range last.Dropped {
		if slices.Contains(begin.Dropped, id) {
			continue
		}
		operator, known := "", false
		for _, o := range begin.Operators {
			if slices.ContainsFunc(o.States, func(s checkpoint.State) bool { return s.ID == id }) {
				operator, known = o.Name, true
			}
		}
		if !known || slices.ContainsFunc(job.Graph.Nodes, func(n *runtime.Node) bool { return n.Name == operator }) {
			return refuse(operator, "state was dropped since (--drop-state): give --from a savepoint that is newer")
		}
	}
	return nil
}

// state opens the state of a savepoint below a directory.
func (b *beginning) state(ctx context.Context, dir string) (*pebblestate.Backend, error) {
	p := b.savepoint
	r := pebblestate.RestoreOf(p, b.files.DownloadTo)
	for _, d := range p.Deltas {
		if d.File == nil {
			return nil, fmt.Errorf("%w: the delta of checkpoint %d is not in a file", checkpoint.ErrCorrupt, d.Checkpoint)
		}
		repr, err := b.files.ReadVerified(ctx, *d.File)
		if err != nil {
			return nil, err
		}
		r.Deltas = append(r.Deltas, pebblestate.Delta{First: d.First, Checkpoint: d.Checkpoint, Repr: repr})
	}
	return pebblestate.Open(ctx, pebblestate.Options{Dir: filepath.Join(dir, "savepoint")}, r)
}

// split is the split of the savepoint, zero if it had none.
func (b *beginning) split(k splitKey) checkpoint.Split {
	if b.savepoint != nil {
		for _, s := range b.savepoint.Sources {
			for _, sp := range s.Splits {
				if (splitKey{s.Name, sp.Topic, sp.Partition}) == k {
					return sp
				}
			}
		}
	}
	return checkpoint.Split{}
}

func (b *beginning) close() error {
	if b.files == nil {
		return nil
	}
	return b.files.Store().Close()
}
