package job_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/job/jobtest"
	"github.com/weirstream/weir/stream"
)

// end waits until a run has processed everything, or has crashed, and ends it in one way or another.
func (m *metamorphosis) end(r *jobtest.Run) {
	m.t.Helper()
	err := r.WaitCommitted()
	switch {
	case errors.Is(err, jobtest.ErrCrashed):
		m.note("run %d: crashed", m.run)
		return
	case err != nil && r.Passed("begun") == 0 && m.hurt:
		m.note("run %d: it did not start: %v", m.run, err) // a supervisor starts it again
		return
	case err != nil:
		m.t.Fatalf("run %d: %v", m.run, err)
	}
	how := m.rnd.IntN(3)
	m.note("run %d: all is processed, end %d", m.run, how)
	switch how {
	case 0:
		r.Kill()
		return
	case 1:
		dir := filepath.Join(m.dir, fmt.Sprint("savepoint-", m.run))
		if err := r.Savepoint(dir); err == nil {
			m.savepoint = dir
		}
	}
	if err := r.Stop(); err != nil && !errors.Is(err, jobtest.ErrCrashed) {
		m.t.Fatalf("run %d: stop: %v", m.run, err)
	}
}

// probe sends one more record of each key and one of a time far away to each partition, lets an untroubled run process
// them, and stops it.
func (m *metamorphosis) probe() {
	m.t.Helper()
	seen := map[string]bool{}
	for _, d := range m.all {
		seen[d.Key] = true
	}
	m.send(slices.Sorted(maps.Keys(seen)))
	for s, partitions := range m.job.partitions {
		for p := range partitions {
			d := datum{Key: fmt.Sprintf("end of %d/%d", s, p), At: never}
			m.all = append(m.all, d)
			m.ProduceTo(topicOf(s), p, stream.Record{Key: []byte(d.Key), Timestamp: d.At})
		}
	}
	r := m.start(false)
	if err := errors.Join(r.WaitCommitted(), r.Stop()); err != nil {
		m.t.Fatalf("run %d: %v", m.run, err)
	}
}

// check compares everything in the end.
func (m *metamorphosis) check() {
	m.t.Helper()
	for topic, want := range m.job.results(m.all) {
		if err := diff(m.job.ordered(topic, m.Read(topic).ByKey()), m.job.ordered(topic, want)); err != nil {
			m.t.Errorf("topic %s: %v", topic, err)
		}
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(m.Brokers()...))
	if err != nil {
		m.t.Fatal(err)
	}
	defer cl.Close()
	admin := kadm.NewClient(cl)
	last := m.densePointers()
	offsetsAre(m.t, admin, last)
	open, err := admin.ListTransactions(context.Background(), nil, []string{"Ongoing", "PrepareCommit", "PrepareAbort"})
	if err != nil {
		m.t.Fatal(err)
	}
	for _, x := range open {
		m.t.Errorf("transaction %s is %s", x.TxnID, x.State)
	}
}

// densePointers checks that checkpoint IDs have no gap and that each delta's file is named after the checkpoint that it was
// written for, which is what cleaning up goes by; and returns the last pointer.
func (m *metamorphosis) densePointers() (last *checkpoint.Pointer) {
	m.t.Helper()
	seen := map[string]bool{}
	for _, r := range m.Read("weir.random.checkpoints") {
		p, err := checkpoint.DecodePointer(r.Value)
		if err != nil {
			m.t.Fatal(err)
		}
		if last != nil && p.Checkpoint != last.Checkpoint+1 {
			m.t.Errorf("checkpoint %d comes after %d", p.Checkpoint, last.Checkpoint)
		}
		last = p
		for _, d := range p.Deltas {
			if d.File == nil || seen[d.File.Name] {
				continue
			}
			seen[d.File.Name] = true
			own := checkpoint.FileName("random", 0, p.Attempt, p.Checkpoint, d.File.Hash, "delta")
			if checkpoint.AttemptOf(d.File.Name) == p.Attempt && d.File.Name != own {
				m.t.Errorf("checkpoint %d has the new file %s, want %s", p.Checkpoint, d.File.Name, own)
			}
		}
	}
	return last
}

// offsetsAre checks that the group's offsets are those of a pointer.
func offsetsAre(t *testing.T, admin *kadm.Client, p *checkpoint.Pointer) {
	t.Helper()
	got, err := admin.FetchOffsets(context.Background(), "random")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range p.Sources {
		for _, sp := range s.Splits {
			if o, ok := got.Lookup(sp.Topic, sp.Partition); ok && o.At != sp.Offset || !ok && sp.Offset > 0 {
				t.Errorf("topic %s partition %d: the group is at %d, the last pointer at %d", sp.Topic, sp.Partition, o.At, sp.Offset)
			}
		}
	}
	if o, ok := got.Lookup("weir.random.checkpoints", 0); !ok || o.Metadata != fmt.Sprint(p.Checkpoint) {
		t.Errorf("the group says that the last checkpoint is %q, want %d", o.Metadata, p.Checkpoint)
	}
}
