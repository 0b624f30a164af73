package runtime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/kafka"
	"github.com/weirstream/weir/sink"
	"github.com/weirstream/weir/source"
)

// CheckSavepoint says what a start would do that begins as the job's Start says, which names a savepoint or a checkpoint to
// begin from. It opens the operators on an empty store, asks the brokers, and changes nothing. That something does not fit
// is no error, but in the Fit; an error says that it could not be found out.
func (j *Job) CheckSavepoint(ctx context.Context) (*Fit, error) {
	cfg := j.cfg
	cfg.Start.Again = true // what has been carried out is judged too
	probe := NewJob(cfg)
	a := &attempt{
		cfg: &probe.cfg, job: probe, graph: cfg.Graph, now: probe.cfg.Now, metrics: &probe.metrics, id: uuid.NewString(), logger: probe.cfg.Logger,
		keyGroups: cfg.Checkpoint.KeyGroups, sources: map[*Node]source.Source{}, foreign: map[string]*kgo.Client{},
	}
	defer a.close()
	last, err := a.look(ctx)
	if err != nil {
		return nil, err
	}
	topics, err := a.findTopics(ctx)
	if err != nil {
		return nil, err
	}
	s, err := a.observe(ctx, last, topics)
	if err != nil {
		return nil, err
	}
	var owned *checkpoint.OwnedError
	if a.files != nil {
		if err := a.notOwned(ctx); err != nil && !errors.As(err, &owned) {
			return nil, err
		}
	}
	res, p := checkpoint.Resolve(s), s.Savepoint
	var refused *checkpoint.RefusedError
	if p == nil || res.Err != nil && !errors.As(res.Err, &refused) {
		return nil, cmp.Or(res.Err, errNoSavepoint)
	}
	f := &Fit{
		Job: cfg.Job, Of: p.Job, Savepoint: s.Request.ID, Checkpoint: p.Checkpoint, Time: p.Time, Lineage: p.Lineage, Findings: []string{}, err: res.Err, resolved: &res,
		Begins: res.Note, Dropped: append([]string{}, res.Dropped...), States: []FitState{}, Splits: []FitSplit{}, Output: []FitOutput{},
	}
	if refused != nil {
		f.Findings = append(f.Findings, refused.Findings...)
	}
	if owned != nil {
		f.Findings = append(f.Findings, owned.Error())
	}
	once := s.Request
	once.Again = ""
	f.CarriedOut = s.Last != nil && once.CarriedOut(s.Last.Request)
	if err := f.broken(ctx, a, s); err != nil {
		return nil, err
	}
	f.states(s)
	f.last(s)
	if err := a.fitSplits(ctx, f, s); err != nil {
		return nil, err
	}
	if f.Fits = len(f.Findings) == 0; !f.Fits {
		f.err = &checkpoint.RefusedError{What: "savepoint " + f.Savepoint, Findings: f.Findings}
	}
	return f, a.fitOutput(ctx, f)
}

// look connects and reads the last pointer. It makes neither a topic nor a directory.
func (a *attempt) look(ctx context.Context) (found last, err error) {
	if a.client, err = kafka.Dial(ctx, a.cfg.Kafka); err != nil {
		return found, err
	}
	a.closers = append(a.closers, a.client.Close)
	if a.log, err = sink.NewPointerLog(a.client, a.cfg.logConfig()); err != nil {
		return found, err
	}
	store, err := checkpoint.OpenStoreToRead(ctx, a.cfg.Checkpoint.Storage)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return found, err
	}
	if err == nil {
		a.closers = append(a.closers, func() { _ = store.Close() })
		a.files = a.filesOf(store)
	}
	if _, err := kafka.NewCluster(a.client).Topic(ctx, a.log.Topic()); err != nil {
		if errors.Is(err, kafka.ErrNoTopic) {
			err = nil // the job has never run
		}
		return found, err
	}
	logged, err := a.log.List(ctx, 1)
	if err != nil || len(logged) == 0 {
		return found, err
	}
	if a.files == nil {
		found.pointer, err = checkpoint.DecodePointer(logged[0].Value)
		found.offset = logged[0].Offset
		return found, err
	}
	return a.completed(ctx, &logged[0])
}

// states says what becomes of each state.
func (f *Fit) states(s checkpoint.Start) {
	kept := f.resolved.Pointer
	if f.err != nil || f.resolved.Kind != checkpoint.ResolvedSavepoint {
		kept = nil
	}
	misfits := checkpoint.Fit(s.Job, s.Savepoint)
	for _, o := range s.Savepoint.Operators {
		for _, st := range o.States {
			out := FitState{Operator: o.Name, State: st.Name, Kind: st.Kind, Type: st.Type, Outcome: Restored}
			i := slices.IndexFunc(misfits, func(m checkpoint.Misfit) bool { return m.Operator == o.Name && (m.State == st.Name || m.State == "") })
			switch {
			case kept != nil && !has(kept.Operators, o.Name, st.Name), f.err == nil && kept == nil:
				out.Outcome = Dropped
			case i >= 0:
				out.Outcome, out.Why = Incompatible, misfits[i].Finding
			default:
				out.New, out.Gone = changed(st, s.Job.Operators, o.Name)
			}
			f.States = append(f.States, out)
		}
	}
	for _, o := range s.Job.Operators {
		for _, st := range o.States {
			if !has(s.Savepoint.Operators, o.Name, st.Name) {
				f.States = append(f.States, FitState{Operator: o.Name, State: st.Name, Kind: st.Kind, Type: st.Type, Outcome: BeginsEmpty})
			}
		}
	}
}

// changed lists the fields and columns that the job's declaration of a state has more and less than the savepoint's.
func changed(was checkpoint.State, now []checkpoint.Operator, operator string) (added, gone []string) {
	for _, o := range now {
		for _, is := range o.States {
			if o.Name != operator || is.Name != was.Name || was.Schema == "" || is.Schema == "" {
				continue
			}
			w, err := checkpoint.ParseSchema(was.Schema)
			if err != nil {
				continue
			}
			if n, err := checkpoint.ParseSchema(is.Schema); err == nil {
				added, gone = checkpoint.Lost(n, w), checkpoint.Lost(w, n)
			}
		}
	}
	return added, gone
}

func has(operators []checkpoint.Operator, name, state string) bool {
	return slices.ContainsFunc(operators, func(o checkpoint.Operator) bool {
		return o.Name == name && slices.ContainsFunc(o.States, func(s checkpoint.State) bool { return s.Name == state })
	})
}

func (f *Fit) last(s checkpoint.Start) {
	if p := s.Last; p != nil {
		f.Last = &FitLast{Checkpoint: p.Checkpoint, Time: p.Time, Lineage: p.Lineage, Same: p.Lineage == s.Savepoint.Lineage}
		if f.Last.Same {
			f.Last.Since = p.Checkpoint - s.Savepoint.Checkpoint
		}
	}
}

// fitSplits opens the sources at the savepoint's offsets, as a start does: whether the records are still there is found out
// by who would read them.
func (a *attempt) fitSplits(ctx context.Context, f *Fit, s checkpoint.Start) error {
	from := f.resolved.Pointer
	if f.err != nil {
		from = s.Savepoint
	}
	done := hasRead(s)
	known := map[checkpoint.SplitKey]bool{}
	for _, src := range s.Savepoint.Sources {
		for _, sp := range src.Splits {
			known[checkpoint.SplitKey{Source: src.Name, Topic: sp.Topic, Partition: sp.Partition}] = true
			if !readsStill(s.Job, src.Name, sp.Topic) {
				f.Splits = append(f.Splits, FitSplit{Source: src.Name, Topic: sp.Topic, Partition: sp.Partition, Offset: sp.Offset, End: -1, Dropped: true})
			}
		}
	}
	a.last = &checkpoint.Pointer{}
	for _, n := range a.graph.Nodes {
		if n.Source == nil {
			continue
		}
		if err := a.openSource(ctx, n, from); err != nil {
			if !judged(err) {
				return err
			}
			// A topic that was made again is a finding of the comparison already.
			if !slices.ContainsFunc(f.Findings, func(known string) bool { return strings.HasPrefix(known, fmt.Sprintf("source %q: topic", n.Name)) }) {
				f.Findings = append(f.Findings, err.Error())
			}
			continue
		}
		for _, src := range a.last.Sources[len(a.last.Sources)-1:] {
			for _, sp := range src.Splits {
				key := checkpoint.SplitKey{Source: src.Name, Topic: sp.Topic, Partition: sp.Partition}
				split := FitSplit{
					Source: src.Name, Topic: sp.Topic, Partition: sp.Partition, Offset: sp.Offset,
					End: a.sources[n].HighWatermark(sp.Topic, sp.Partition), New: !known[key],
				}
				if at, ok := done[key]; ok {
					split.Again, split.Skipped = max(0, at-sp.Offset), max(0, sp.Offset-at)
				} else if at, ok := done[checkpoint.SplitKey{Topic: sp.Topic, Partition: sp.Partition}]; ok {
					split.Again = max(0, at-sp.Offset)
				}
				f.Splits = append(f.Splits, split)
			}
		}
	}
	return nil
}

// hasRead is, by source, topic and partition, up to where the last checkpoint has read; and by topic and partition alone up to
// where a source has read that the job has no more, in the last checkpoint or in the savepoint.
func hasRead(s checkpoint.Start) map[checkpoint.SplitKey]int64 {
	done := map[checkpoint.SplitKey]int64{}
	add := func(p *checkpoint.Pointer, last bool) {
		if p == nil {
			return
		}
		for _, src := range p.Sources {
			for _, sp := range src.Splits {
				where := checkpoint.SplitKey{Topic: sp.Topic, Partition: sp.Partition}
				if last {
					done[checkpoint.SplitKey{Source: src.Name, Topic: sp.Topic, Partition: sp.Partition}] = sp.Offset
				}
				if !readsStill(s.Job, src.Name, sp.Topic) {
					done[where] = max(done[where], sp.Offset)
				}
			}
		}
	}
	add(s.Savepoint, false)
	add(s.Last, true)
	return done
}

// readsStill reports whether a source of the job reads a topic.
func readsStill(job checkpoint.Description, source, topic string) bool {
	return slices.ContainsFunc(job.Topics, func(t checkpoint.Topic) bool { return t.Role == "source" && t.Step == source && t.Name == topic })
}

// judged reports that an error of a source says that what is restored does not fit what the brokers have.
func judged(err error) bool {
	var recreated *source.TopicRecreatedError
	var loss *source.DataLossError
	var restore *source.RestoreError
	var missing *source.MissingTopicError
	return errors.As(err, &recreated) || errors.As(err, &loss) || errors.As(err, &restore) || errors.As(err, &missing)
}

// fitOutput counts what stands in the topics that the job writes since the savepoint.
func (a *attempt) fitOutput(ctx context.Context, f *Fit) error {
	topics := a.outputTopics()
	if len(topics) == 0 {
		return nil
	}
	logs, err := kafka.NewCluster(a.client).LogsAt(ctx, time.UnixMilli(f.Time), topics...)
	if err != nil {
		return fmt.Errorf("output: %w", err)
	}
	for _, topic := range topics {
		out := FitOutput{Topic: topic}
		for _, log := range logs[topic] {
			out.Offsets += max(0, log.Stable-log.At)
		}
		f.Output = append(f.Output, out)
	}
	return nil
}
