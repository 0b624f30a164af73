package runtime

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/fault"
	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/pebblestate"
	"github.com/weirstream/weir/sink"
	"github.com/weirstream/weir/source"
	"github.com/weirstream/weir/stream"
)

// attempt is one run of a shard between restarts: everything in it is made anew, and thrown away at the first error.
type attempt struct {
	laps    laps
	ctx     context.Context
	cfg     *Config
	job     *Job
	graph   *Graph
	logger  *slog.Logger
	now     func() int64
	metrics *Metrics
	id      string
	kind    checkpoint.ResolutionKind
	// restored is the checkpoint that the attempt began from, 0 for none, and watermarks those of its operators.
	restored   int64
	watermarks map[string]int64
	shard      int
	keyGroups  int
	// budget is how many bytes of live state a subtask with state may have.
	budget int64
	// writing is closed when Pebble has the base that is being written; nil if none is.
	writing atomic.Pointer[chan struct{}]

	// aside is what is asked and opened beside the recovery; topics, clusterID, listed1 and opening are answers, or wait for them:
	// the job's topics as they were looked up last, the cluster's ID, the newest pointer that is committed, and sources.
	aside     *aside
	topics    foundTopics
	clusterID func() (string, error)
	listed1   func() ([]sink.LoggedPointer, error)
	opening   map[*Node]func() (source.Source, error)

	client *kgo.Client
	log    *sink.PointerLog
	tx     sink.Transactions
	// outputLags is the cleaner's last look at what readers do not see.
	outputLags atomic.Pointer[[]outputLag]
	files      *checkpoint.Files
	// owner is the job as the owner of its files in the storage, owns that it is known to be: see own.
	owner checkpoint.Owner
	owns  bool
	// savepointFiles are those of the savepoint that the attempt begins from.
	savepointFiles *checkpoint.Files
	savepoint      *checkpoint.Manifest
	backend        *pebblestate.Backend
	// ahead is the state that is opened before it is known that it is the one to begin from; nil if none is.
	ahead *ahead
	// readBefore are deltas that need not be read any more, by hash: see ahead.readBefore.
	readBefore    map[checkpoint.Hash][]byte
	sources       map[*Node]source.Source
	timeAlignment *source.TimeAlignment
	// foreign are the clients of sources on another cluster than the sinks', by source.
	foreign map[string]*kgo.Client
	closers []func()

	// last is the last committed pointer and lastOffset its place in the checkpoint partition. They belong to the
	// goroutine that completes checkpoints, and to start before there is one.
	last       *checkpoint.Pointer
	lastOffset int64
	// before is the last pointer of whoever ran before this attempt, nil if there was none.
	before *checkpoint.Pointer
	// taken is the checkpoint that the recovery took for the last, 0 for none; readUpTo is behind its pointer.
	taken, readUpTo int64
	// base is the one that is being written, nil if none is; baseWrote is what the attempt's last one wrote to the storage, in bytes.
	base      *baseWork
	baseWrote int64
	looked    time.Time // at the sizes of the live maps, zero before the first checkpoint
	known     []checkpoint.Committed
	// unread are the offsets of pointers that could not be read for a moment, and may still be needed.
	unread []int64
	// left is the checkpoint that the lineage has left behind, nil for none, and leftUnread that it could not be read for a moment.
	left       *checkpoint.Pointer
	leftUnread bool
	listed     []checkpoint.Stored
	cleanings  chan cleaning
	// unfinished are the savepoints that are being copied; savepointsDone brings those that are not any more.
	unfinished     []checkpoint.Savepoint
	savepointsDone chan checkpoint.Savepoint

	tasks     []*task
	gates     map[*task][]*gate
	readers   []*sourceSubtask
	operators []*operatorSubtask

	group      *errgroup.Group
	coord      *coordination
	firstBatch sync.Once
	// nextTrigger is when a checkpoint is triggered at the soonest, the zero time for any moment; nil before the coordinator begins.
	nextTrigger atomic.Pointer[time.Time]
	// smooth counts the checkpoints in a row that found nothing in their way.
	smooth atomic.Int32
}

// build makes every chain and what feeds it. Operators declare their states here, so what does not fit is found before
// anything is written.
func (a *attempt) build() error {
	a.tasks = plan(a.graph, a.cfg.Parallelism)
	a.gates = map[*task][]*gate{}
	keyed := 0 // subtasks
	for _, t := range a.tasks {
		if slices.ContainsFunc(t.nodes, func(n *Node) bool { return n.Keyed }) {
			keyed += t.parallelism
		}
		if t.parallelism > a.keyGroups {
			return &OptionError{fmt.Errorf("operator %s: parallelism %d is more than the %d key groups of the job", t.name, t.parallelism, a.keyGroups)}
		}
		if len(t.inputs) == 0 {
			continue
		}
		channels := 0
		for _, e := range t.inputs {
			channels += e.channels()
		}
		for range t.parallelism {
			a.gates[t] = append(a.gates[t], newGate(a.ctx, channels, a.cfg.Checkpoint.Timeout/12))
		}
	}
	a.budget = a.share() / int64(max(keyed, 1))
	for _, t := range a.tasks {
		for i := range t.parallelism {
			if err := a.buildSubtask(t, i); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *attempt) buildSubtask(t *task, index int) error {
	c, err := a.buildChain(t, index)
	if err != nil {
		return err
	}
	if len(t.inputs) == 0 {
		return a.buildReader(t, c, index)
	}
	s := &operatorSubtask{subtask: subtask{a: a, chain: c}, gate: a.gates[t][index]}
	for _, e := range t.inputs {
		for range e.channels() {
			s.receive = append(s.receive, e.input.Type.receiver(c.stages[0].impl.In[e.port], c.stages[0].impl.prefetch(e.port)))
		}
		for i := range e.channels() {
			from := stream.SubtaskID{Operator: e.fromTask.name, Index: i}
			if e.mode == forward {
				from.Index = index
			}
			s.from = append(s.from, from)
		}
	}
	s.aligner = checkpoint.NewAligner(len(s.receive), a.cfg.Checkpoint.Mode)
	a.operators = append(a.operators, s)
	return nil
}

func (a *attempt) buildReader(t *task, c *chain, index int) error {
	n := t.nodes[0]
	s := &sourceSubtask{
		subtask: subtask{a: a, chain: c}, node: n, timed: timeOf(c),
		barriers: make(chan int64, a.cfg.Checkpoint.MaxConcurrent), events: make(chan source.Event, 4),
	}
	for i, split := range a.splits(n.Name) {
		if i%t.parallelism == index {
			s.splits = append(s.splits, split)
		}
	}
	var err error
	if s.reader, err = a.sources[n].Reader(index, t.parallelism, s.splits); err != nil {
		return err
	}
	m := c.stages[0].metrics
	bad := &badRecords{policy: n.Source.BadRecord.Policy, step: n.Name, count: func() { m.BadRecords.Add(1) }}
	if bad.policy == PolicyDeadLetter {
		if bad.letters, err = a.tx.Writer(a.ctx, n.Source.BadRecord.Topic); err != nil {
			return locate("source", n.Name, err)
		}
		c.writers = append(c.writers, bad.letters)
	}
	s.decode = n.Source.Decode(c.stages[0].impl.In[0], bad.source)
	a.readers = append(a.readers, s)
	return nil
}

// splits are those of a source as the last pointer has them.
func (a *attempt) splits(source string) []checkpoint.Split {
	for _, s := range a.last.Sources {
		if s.Name == source {
			return s.Splits
		}
	}
	return nil
}

// describe lists the operators and their states for the pointer.
func (a *attempt) describe(watermarks map[string]int64) []checkpoint.Operator {
	states := map[string][]checkpoint.State{}
	if a.backend != nil {
		for _, s := range a.backend.States() {
			states[s.Operator] = append(states[s.Operator], checkpoint.State{
				ID: s.ID, Name: s.Name, Kind: s.Kind, Type: s.Type, Version: s.Version, Schema: s.Schema,
			})
		}
	}
	var ops []checkpoint.Operator
	for _, n := range a.graph.Nodes {
		wm, ok := watermarks[n.Name]
		if !ok {
			wm = stream.MinTime
		}
		ops = append(ops, checkpoint.Operator{Name: n.Name, Kind: n.Kind, States: states[n.Name], Keys: keysOf(n, states[n.Name]), Watermark: wm})
	}
	return ops
}

// run starts every goroutine and returns when all have ended, with the error that ended the attempt; nil if the job is
// done or was stopped.
func (a *attempt) run() error {
	a.group.Go(func() error { return a.coord.run(a.ctx) })
	a.group.Go(func() error { return a.coord.worker(a.ctx, a.coord.work[0], a.prepareAndPersist) })
	a.group.Go(func() error { return a.coord.worker(a.ctx, a.coord.work[1], a.finish) })
	a.group.Go(func() error { return a.clean(a.ctx) })
	a.group.Go(func() error {
		select {
		case <-a.tx.Failed():
			a.coord.send(broken{a.tx.Err()})
			<-a.ctx.Done()
			return context.Cause(a.ctx)
		case <-a.ctx.Done():
			a.tx.Interrupt() // ends the wait of every writer
			return context.Cause(a.ctx)
		}
	})
	if a.backend != nil {
		a.group.Go(func() error {
			select {
			case <-a.backend.Failed():
				return a.step("state", a.backend.Err())
			case <-a.ctx.Done():
				return context.Cause(a.ctx)
			}
		})
	}
	for _, r := range a.readers {
		a.group.Go(func() error { return r.reader.Run(a.ctx, r.events) }) // its errors name the source
		a.group.Go(func() error { return locate("source", r.node.Name, r.run(a.ctx)) })
	}
	for _, o := range a.operators {
		a.group.Go(func() error { return locate("subtask", o.chain.subtask.String(), o.run(a.ctx)) })
	}
	return a.group.Wait()
}

// acknowledge reports a subtask's snapshot. At the barrier of the last checkpoint the subtask stands still then: nothing is
// read or fired that would be done again.
func (a *attempt) acknowledge(s *snapshot) error {
	entries := 0
	for _, f := range s.frozen {
		entries += f.frozen.Len()
	}
	a.cfg.Fault.At(fault.Snapshot)
	a.cfg.Listener.OnSnapshot(checkpoint.SnapshotEvent{Checkpoint: s.checkpoint, Subtask: s.subtask, Pause: s.pause, Entries: entries})
	a.coord.send(s)
	return a.coord.stand(s.checkpoint)
}

func (a *attempt) sourceEnded() { a.coord.send(sourceEnd{}) }

// through notes that a batch of records has gone through a source's chain: the first one is told.
func (a *attempt) through() { a.firstBatch.Do(func() { a.coord.send(firstRecords{}) }) }

func (a *attempt) atLeastOnce() bool { return a.cfg.Checkpoint.Mode == checkpoint.AtLeastOnce }

// mostMargin is how long before a barrier a source does not rest any more, at most.
const mostMargin = 25 * time.Millisecond

const (
	// often is up to which interval a source is asked for what it has once a checkpoint, if it has little: at longer ones that would
	// not spare much. It is as long as a source rests at most.
	often = 20 * time.Millisecond
	// smoothEnough is how many checkpoints in a row must have found nothing in their way before that.
	smoothEnough = 4
)

// rest is how long a source may leave its input with the brokers after a fetch that took so long, 0 or less for not at all: what
// becomes of it is not committed before the next barrier. If a fetch takes long, the brokers are far away, or little comes, and
// there is nothing to gain. Before a barrier it has the margin, and rests no longer than this at a time: so whatever gathers
// meanwhile is processed before the barrier, by a job that keeps up at all.
//
// With short intervals most fetches would be those within the margin. So while checkpoints find nothing in their way, there is one
// fetch for each, as late before the barrier as it can be. What comes behind it waits for the next.
func (a *attempt) rest(took time.Duration) time.Duration {
	next := a.nextTrigger.Load()
	if next == nil || next.IsZero() || a.atLeastOnce() {
		return 0
	}
	interval, margin, left := a.cfg.Checkpoint.Interval, a.margin(), time.Until(*next)
	if took > margin/2 || left <= 0 {
		return 0
	}
	if interval <= often && a.smooth.Load() >= smoothEnough {
		late := margin/4 + took
		if left <= late {
			left += interval
		}
		return left - late
	}
	return min(left-margin, margin)
}

func (a *attempt) margin() time.Duration { return min(a.cfg.Checkpoint.Interval/4, mostMargin) }

// foundFree notes whether a checkpoint found nothing in its way: it was committed in its interval, and its barriers were through at
// once, with nothing left behind them that had been fetched before.
func (a *attempt) foundFree(c *completion, took time.Duration) {
	o := &a.cfg.Checkpoint
	if !c.behind && c.travel < a.margin()/2 && took+o.MinPause < o.Interval {
		a.smooth.Add(1)
	} else {
		a.smooth.Store(0)
	}
}

// chains are those of all subtasks.
func (a *attempt) chains() []*chain {
	var all []*chain
	for _, r := range a.readers {
		all = append(all, r.chain)
	}
	for _, o := range a.operators {
		all = append(all, o.chain)
	}
	return all
}

func (a *attempt) store() operators.StateStore {
	if a.backend == nil {
		return nil
	}
	return stateStore{a.backend}
}

// stateStore lets a pebblestate.Backend, which knows no operators, be an operators.StateStore.
type stateStore struct{ *pebblestate.Backend }

func (s stateStore) StateID(operator string, d operators.StateDesc) (uint16, error) {
	return s.Backend.StateID(operator, pebblestate.StateDesc(d))
}

// close releases what the attempt holds, last opened first.
func (a *attempt) close() {
	defer a.aside.close()
	if a.aside != nil {
		a.aside.cancel()
	}
	for i := len(a.closers) - 1; i >= 0; i-- {
		a.closers[i]()
	}
}
