package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/kafka"
	"github.com/weirstream/weir/internal/runtime"
	"github.com/weirstream/weir/pebblestate"
	"github.com/weirstream/weir/source"
	"github.com/weirstream/weir/stream"
)

// Run verifies a job. The job may run meanwhile; Run writes nothing to its topics or its storage. An error says that it
// could not be verified: a *[Refused], or what kept it from being read. What the comparison found is in the report and
// [Report.Err].
func Run(ctx context.Context, job Job, o Options) (report *Report, err error) {
	o.EnsureDefaults()
	if job.Checkpoint.Mode == checkpoint.AtLeastOnce {
		return nil, refuse("", "mode at_least_once: results may be there twice, so there is nothing to compare")
	}
	topics := written(job.Graph)
	if n := countTopics(job.Graph, len(topics)); n > maxTopics {
		return nil, refuse("", "the job reads and writes %d topics: more than %d are not numbered", n, maxTopics)
	}
	cl, err := kafka.Dial(ctx, job.Kafka)
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	b, err := findBounds(ctx, cl, &job, &o)
	if err != nil {
		return nil, err
	}
	begin, err := findBeginning(ctx, &job, &o, b.p0, cl)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, begin.close()) }()
	ledger, err := openLedger(o.TempDir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, ledger.close()) }()

	report = &Report{Job: job.Name, Lineage: b.p0.Lineage, Checkpoint: b.p0.Checkpoint, Until: b.p1.Checkpoint, Last: o.Last, Doubts: []*Doubt{}, Examples: []Finding{}}
	if begin.savepoint != nil {
		report.From = begin.files.Store().String()
	}
	report.Began = begin.checkpoint
	l := &loop{
		job: &job, opts: &o, ledger: ledger, report: report, keyGroups: b.p0.KeyGroups, byNode: map[*runtime.Node]*step{},
		lanes: &lanes{ledger: ledger, cache: map[string]firstSeen{}}, topics: topics,
	}
	l.store = &store{db: ledger.db, keyGroups: l.keyGroups}
	if err := l.compute(ctx, b, begin); err != nil {
		return nil, err
	}
	if err := readOutputs(ctx, cl, b, ledger, &o); err != nil {
		return nil, err
	}
	began, _, _ := strings.Cut(b.p0.Request, "#")
	for i := range b.outputs {
		t := &b.outputs[i]
		// The first lineage of a job wrote all that there is; of another one, the beginning is not known.
		t.before = (begin.savepoint != nil || began != "start") && len(o.OutputFrom[t.name]) == 0
	}
	c := &comparison{loop: l, bounds: b, report: report, opts: &o}
	if err := c.run(ctx); err != nil {
		return nil, err
	}
	return report, nil
}

// maxTopics bounds the topics of a job: one byte numbers them in the ledger, and 0 is none.
const maxTopics = 254

func countTopics(g *runtime.Graph, written int) int {
	for _, n := range g.Nodes {
		if n.Source != nil {
			written += len(n.Source.Spec.Kafka.Topics)
		}
	}
	return written
}

// compute runs the loop over the input.
func (l *loop) compute(ctx context.Context, b *bounds, begin *beginning) error {
	if begin.savepoint != nil {
		restored, err := begin.state(ctx, l.ledger.dir)
		if err != nil {
			return fmt.Errorf("savepoint %s: %w", l.report.From, err)
		}
		defer func(r *pebblestate.Backend) { _ = r.Close() }(restored) // it was only read
		l.store.restored = restored
	}
	if err := l.wire(l.job.Graph); err != nil {
		return err
	}
	l.store.restored = nil
	if err := l.limits(b.p0, 0); err != nil {
		return err
	}
	if err := l.limits(b.p1, 1); err != nil {
		return err
	}
	clients, err := l.openInputs(ctx, b, begin)
	defer func() {
		for _, cl := range clients {
			cl.Close()
		}
	}()
	if err != nil {
		return err
	}
	l.openSplits()
	l.now = passing{doubt: -1, latest: stream.MinTime}
	if begin.savepoint != nil {
		if err := l.resume(begin.savepoint); err != nil {
			return err
		}
	}
	if err := l.run(ctx, 0); err != nil {
		return err
	}
	if b.p1.Checkpoint != b.p0.Checkpoint {
		if err := l.run(ctx, 1); err != nil {
			return err
		}
	}
	return l.end()
}

// limits takes from a pointer how far event time had come at each step.
func (l *loop) limits(p *checkpoint.Pointer, phase int) error {
	for _, s := range l.steps {
		s.limit[phase] = stream.MinTime
		if s.node.Source != nil || s.node.Sink != nil {
			continue
		}
		at := slices.IndexFunc(p.Operators, func(o checkpoint.Operator) bool { return o.Name == s.node.Name })
		if at < 0 {
			return refuse("", "checkpoint %d knows no operator %q: is this the job that ran?", p.Checkpoint, s.node.Name)
		}
		s.limit[phase] = p.Operators[at].Watermark
	}
	return nil
}

// openInputs makes the readers of the splits. The clients are the caller's.
func (l *loop) openInputs(ctx context.Context, b *bounds, begin *beginning) (clients []*kgo.Client, err error) {
	count := 0
	for _, s := range b.p1.Sources {
		count += len(s.Splits)
	}
	for _, st := range l.steps {
		n := st.node
		if n.Source == nil {
			continue
		}
		config := l.job.Kafka
		if n.Source.Kafka != nil {
			config = *n.Source.Kafka
		}
		cl, err := kafka.Dial(ctx, config)
		if err != nil {
			return clients, fmt.Errorf("source %s: %w", n.Name, err)
		}
		clients = append(clients, cl)
		logs, err := kafka.NewCluster(cl).Logs(ctx, n.Source.Spec.Kafka.Topics...)
		if err != nil {
			return clients, fmt.Errorf("source %s: %w", n.Name, err)
		}
		in := &input{step: st}
		in.decode = n.Source.Decode(st.stage.In[0], func(rec *stream.Record, cause error) error {
			return l.bad(n.Name, n.Source.BadRecord, rec, cause, uint64(st.index))
		})
		splits, known := splitsOf(b.p1, n.Name)
		if !known {
			return clients, refuse("", "checkpoint %d knows no source %q: is this the job that ran?", b.p1.Checkpoint, n.Name)
		}
		p0, _ := splitsOf(b.p0, n.Name)
		for _, end := range splits {
			key := splitKey{n.Name, end.Topic, end.Partition}
			from, listed := begin.offsets[key]
			start := logs[end.Topic][end.Partition].Start
			if !listed {
				from = 0 // it was found while the job ran, and read from its beginning
			}
			to := from
			for _, s := range p0 {
				if s.Topic == end.Topic && s.Partition == end.Partition {
					to = s.Offset
				}
			}
			if from < start && from < end.Offset {
				if l.opts.LogStart {
					from = start
				} else {
					return clients, &source.DataLossError{Kind: source.LossExpired, Topic: end.Topic, Partition: end.Partition, Offset: from, LogStart: start}
				}
			}
			to = max(to, from)
			if !slices.Contains(l.topics, end.Topic) {
				l.topics = append(l.topics, end.Topic)
			}
			o := n.Source.Spec.Kafka
			o.EnsureDefaults()
			in.splits = append(in.splits, &split{
				index: int32(len(in.splits)), topic: l.number(end.Topic), lane: laneOf(st.index, end.Topic, end.Partition),
				reader: &reader{
					client: cl, cluster: kafka.NewCluster(cl), topic: end.Topic, partition: end.Partition, committed: o.Isolation == "read_committed",
					size: fetchSize(count), next: from, to: to,
				},
				until: max(to, end.Offset), from: begin.split(key),
			})
			l.report.Ranges = append(l.report.Ranges, Range{Source: n.Name, Topic: end.Topic, Partition: end.Partition, From: from, To: to, Until: max(to, end.Offset)})
		}
		l.sources = append(l.sources, in)
	}
	return clients, nil
}

func splitsOf(p *checkpoint.Pointer, name string) ([]checkpoint.Split, bool) {
	for _, s := range p.Sources {
		if s.Name == name {
			return s.Splits, true
		}
	}
	return nil, false
}

// readOutputs notes what a read_committed reader sees of the output.
func readOutputs(ctx context.Context, cl *kgo.Client, b *bounds, ledger *ledger, o *Options) error {
	var total, done int64
	for _, t := range b.outputs {
		for _, p := range t.partitions {
			total += p.to - p.from
		}
	}
	var rec stream.Record
	for i, t := range b.outputs {
		for partition, p := range t.partitions {
			r := &reader{
				client: cl, cluster: kafka.NewCluster(cl), topic: t.name, partition: int32(partition), committed: true,
				size: 1 << 20, next: p.from, to: p.to,
			}
			for n := 0; ; n++ {
				ok, err := r.take(ctx, &rec)
				if err != nil {
					return err
				}
				if !ok {
					break
				}
				if err := ledger.got(uint8(i), &rec); err != nil {
					return err
				}
				if n%spillEvery == 0 {
					o.Progress(Progress{Phase: "output", Done: done + p.to - p.from - r.left(), Total: total})
				}
			}
			done += p.to - p.from
		}
	}
	o.Progress(Progress{Phase: "output", Done: total, Total: total})
	return ledger.flush()
}
