package runtime

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/kafka"
	"github.com/weirstream/weir/sink"
	"github.com/weirstream/weir/source"
)

// Fit is what a start of a job from a savepoint would do, found out without disturbing anybody.
type Fit struct {
	Job string `json:"job"`
	// Savepoint is the savepoint's ID, or "checkpoint:<id>"; Checkpoint, Time (milliseconds since the Unix epoch) and Lineage
	// are those of its checkpoint.
	Savepoint  string `json:"savepoint"`
	Checkpoint int64  `json:"checkpoint"`
	Time       int64  `json:"time"`
	Lineage    string `json:"lineage"`
	// Fits says whether the job would start, Findings why not, and Begins, in a sentence, what it would begin from.
	Fits     bool     `json:"fits"`
	Findings []string `json:"findings"`
	Begins   string   `json:"begins,omitempty"`
	// CarriedOut: the job's lineage has begun from this savepoint already, so that a start goes on unless it says --again.
	CarriedOut bool        `json:"carried_out"`
	States     []FitState  `json:"states"`
	Splits     []FitSplit  `json:"splits"`
	Last       *FitLast    `json:"last_checkpoint,omitempty"`
	Output     []FitOutput `json:"output"`
	err        error       // the refusal
	resolved   *checkpoint.Resolution
}

// Err is the refusal with which a start would end, nil if the savepoint fits.
func (f *Fit) Err() error { return f.err }

// Outcome is what becomes of a state.
type Outcome string

// The outcomes.
const (
	Restored     Outcome = "restored"
	Dropped      Outcome = "dropped"
	Incompatible Outcome = "does not fit"
	BeginsEmpty  Outcome = "new, begins empty"
)

// FitState is one state of the savepoint, or one that the job has and the savepoint has not.
type FitState struct {
	Operator string  `json:"operator"`
	State    string  `json:"state"`
	Kind     string  `json:"kind"`
	Type     string  `json:"type"`
	Outcome  Outcome `json:"outcome"`
	Why      string  `json:"why,omitempty"`
}

// FitSplit is where a partition would be read from.
type FitSplit struct {
	Source    string `json:"source"`
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
	// End is the end of the partition; -1 if it is not known. What lies between counts markers of transactions too.
	End int64 `json:"end"`
	// Again is how many of the offsets behind Offset the job's last checkpoint has read: they are read again. Skipped is how
	// many it had still to read that are not read any more. Both are 0 if the job has no checkpoint.
	Again   int64 `json:"again"`
	Skipped int64 `json:"skipped"`
	// New: the savepoint does not know the partition; Dropped: its source is gone.
	New     bool `json:"new,omitempty"`
	Dropped bool `json:"dropped,omitempty"`
}

// FitLast is the last checkpoint of the job.
type FitLast struct {
	Checkpoint int64  `json:"checkpoint"`
	Time       int64  `json:"time"`
	Lineage    string `json:"lineage"`
	// Same: the savepoint is of the same lineage. Since is then how many checkpoints were committed after it.
	Same  bool  `json:"same_lineage"`
	Since int64 `json:"since"`
}

// FitOutput is what stands in a topic that the job writes, stamped at the time of the savepoint or later. The stamps are those
// of the records, which are not always the time of writing.
type FitOutput struct {
	Topic string `json:"topic"`
	// Offsets counts records and markers of transactions, from the first that is stamped so to the end.
	Offsets int64 `json:"offsets"`
}

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
	topics, err := a.sinkTopics(ctx)
	if err != nil {
		return nil, err
	}
	s, err := a.observe(ctx, last, topics)
	if err != nil {
		return nil, err
	}
	res, p := checkpoint.Resolve(s), s.Savepoint
	var refused *checkpoint.RefusedError
	if p == nil || res.Err != nil && !errors.As(res.Err, &refused) {
		return nil, errors.Join(res.Err, errNoSavepoint)
	}
	f := &Fit{
		Job: cfg.Job, Savepoint: s.Request.ID, Checkpoint: p.Checkpoint, Time: p.Time, Lineage: p.Lineage, Findings: []string{}, err: res.Err, resolved: &res,
		Begins: res.Note, States: []FitState{}, Splits: []FitSplit{}, Output: []FitOutput{},
	}
	if refused != nil {
		f.Findings = append(f.Findings, refused.Findings...)
	}
	once := s.Request
	once.Again = ""
	f.CarriedOut = s.Last != nil && once.CarriedOut(s.Last.Request)
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

var errNoSavepoint = errors.New("there is no savepoint to compare with")

// look connects and reads the last pointer. It makes neither a topic nor a directory.
func (a *attempt) look(ctx context.Context) (found last, err error) {
	if a.client, err = kafka.Dial(ctx, a.cfg.Kafka); err != nil {
		return found, err
	}
	a.closers = append(a.closers, a.client.Close)
	if a.log, err = sink.NewPointerLog(a.client, a.cfg.logConfig()); err != nil {
		return found, err
	}
	storage := a.cfg.Checkpoint.Storage
	if _, statErr := os.Stat(storage); statErr == nil || strings.Contains(storage, "://") {
		store, err := checkpoint.OpenStore(ctx, storage)
		if err != nil {
			return found, err
		}
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
			i := slices.IndexFunc(misfits, func(m checkpoint.Misfit) bool { return m.Operator == o.Name && m.State == st.Name })
			switch {
			case kept != nil && !has(kept.Operators, o.Name, st.Name), f.err == nil && kept == nil:
				out.Outcome = Dropped
			case i >= 0:
				out.Outcome, out.Why = Incompatible, misfits[i].Finding
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
	done := map[string]int64{} // what the last checkpoint has read
	if s.Last != nil {
		for _, src := range s.Last.Sources {
			for _, sp := range src.Splits {
				done[fmt.Sprint(src.Name, "/", sp.Topic, "/", sp.Partition)] = sp.Offset
			}
		}
	}
	known := map[string]bool{}
	for _, src := range s.Savepoint.Sources {
		gone := !slices.Contains(s.Job.Sources, src.Name)
		for _, sp := range src.Splits {
			known[fmt.Sprint(src.Name, "/", sp.Topic, "/", sp.Partition)] = true
			if gone {
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
				key := fmt.Sprint(src.Name, "/", sp.Topic, "/", sp.Partition)
				split := FitSplit{
					Source: src.Name, Topic: sp.Topic, Partition: sp.Partition, Offset: sp.Offset,
					End: a.sources[n].HighWatermark(sp.Topic, sp.Partition), New: !known[key],
				}
				if at, ok := done[key]; ok {
					split.Again, split.Skipped = max(0, at-sp.Offset), max(0, sp.Offset-at)
				}
				f.Splits = append(f.Splits, split)
			}
		}
	}
	return nil
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
	adm := kadm.NewClient(a.client)
	since, err := adm.ListOffsetsAfterMilli(ctx, f.Time, topics...)
	if err == nil {
		err = since.Error()
	}
	if err != nil {
		return fmt.Errorf("output: %w", err)
	}
	ends, err := adm.ListCommittedOffsets(ctx, topics...)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return fmt.Errorf("output: %w", err)
	}
	for _, topic := range topics {
		out := FitOutput{Topic: topic}
		for p, from := range since[topic] {
			if end, ok := ends.Lookup(topic, p); ok && from.Offset >= 0 {
				out.Offsets += max(0, end.Offset-from.Offset)
			}
		}
		f.Output = append(f.Output, out)
	}
	return nil
}
