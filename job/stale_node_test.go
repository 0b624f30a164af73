package job_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/fault"
	"github.com/weirstream/weir/internal/runtime"
	"github.com/weirstream/weir/job"
)

// past is a node that is cut off from the others, but not from the clients: it answers, as if it still led, what was true
// when past was made. It does so while last or group is set.
type past struct {
	// last: the end of the checkpoint partition; group: the offsets of the job's group. Each counts down.
	last, group atomic.Int32
	// told is how many old answers there were.
	told atomic.Int32
}

const checkpointTopic = "weir.sums.checkpoints"

func (c *cluster) remember() *past {
	c.t.Helper()
	ends, err := kadm.NewClient(c.client).ListEndOffsets(c.t.Context(), checkpointTopic)
	if err != nil {
		c.t.Fatal(err)
	}
	end, _ := ends.Lookup(checkpointTopic, 0)
	own, all := c.groupAnswer(checkpointTopic), c.groupAnswer()
	p := &past{}
	take := func(left *atomic.Int32) bool {
		if left.Add(-1) < 0 {
			left.Store(0)
			return false
		}
		p.told.Add(1)
		return true
	}
	c.fake.ControlKey(int16(kmsg.ListOffsets), func(r kmsg.Request) (kmsg.Response, error, bool) {
		c.fake.KeepControl()
		req := r.(*kmsg.ListOffsetsRequest)
		if len(req.Topics) != 1 || req.Topics[0].Topic != checkpointTopic || req.Topics[0].Partitions[0].Timestamp != -1 || !take(&p.last) {
			return nil, nil, false
		}
		resp := req.ResponseKind().(*kmsg.ListOffsetsResponse)
		topic := kmsg.NewListOffsetsResponseTopic()
		topic.Topic = checkpointTopic
		part := kmsg.NewListOffsetsResponseTopicPartition()
		part.Offset = end.Offset
		topic.Partitions = append(topic.Partitions, part)
		resp.Topics = append(resp.Topics, topic)
		return resp, nil, true
	})
	c.fake.ControlKey(int16(kmsg.OffsetFetch), func(r kmsg.Request) (kmsg.Response, error, bool) {
		c.fake.KeepControl()
		req := r.(*kmsg.OffsetFetchRequest)
		if len(req.Groups) != 1 || !take(&p.group) {
			return nil, nil, false
		}
		resp := *all
		if len(req.Groups[0].Topics) > 0 {
			resp = *own
		}
		resp.SetVersion(req.GetVersion())
		return &resp, nil, true
	})
	return p
}

// groupAnswer asks for the offsets of the job's group: those of the topics given, all without any.
func (c *cluster) groupAnswer(topics ...string) *kmsg.OffsetFetchResponse {
	c.t.Helper()
	req := kmsg.NewPtrOffsetFetchRequest()
	req.RequireStable = true
	group := kmsg.NewOffsetFetchRequestGroup()
	group.Group = "sums"
	for _, name := range topics {
		meta, err := kadm.NewClient(c.client).Metadata(c.t.Context(), name)
		if err != nil {
			c.t.Fatal(err)
		}
		topic := kmsg.NewOffsetFetchRequestGroupTopic()
		topic.Topic, topic.TopicID, topic.Partitions = name, meta.Topics[name].ID, []int32{0}
		group.Topics = append(group.Topics, topic)
	}
	req.Groups = append(req.Groups, group)
	resp, err := req.RequestWith(c.t.Context(), c.client)
	if err != nil {
		c.t.Fatal(err)
	}
	return resp
}

// many is more answers than a recovery asks for.
const many = 1 << 20

// exact waits for the results of the first n records, and checks that no checkpoint was committed twice or left out.
func (c *cluster) exact(j *running, n int) {
	c.t.Helper()
	eventually(c.t, "all results", func() bool {
		select {
		case err := <-j.done:
			c.t.Fatalf("the job ended: %v", err)
		default:
		}
		return diff(c.read("out"), wantSums(n, 10)) == nil
	})
	j.stop()
	if err := diff(c.read("out"), wantSums(n, 10)); err != nil {
		c.t.Error(err)
	}
	before := int64(0)
	for _, r := range c.records(checkpointTopic) {
		var id int64
		if _, err := fmt.Sscan(string(r.Key), &id); err != nil {
			c.t.Fatal(err)
		}
		if before != 0 && id != before+1 {
			c.t.Errorf("checkpoint %d follows checkpoint %d", id, before)
		}
		before = id
	}
}

// ranTwice is a job that has run, what a node knows that was cut off then, and the job's second run.
func ranTwice(c *cluster, o job.Options) *past {
	c.t.Helper()
	c.feed("in", 0, 100, 10)
	j := start(c.t, sums(1), o)
	eventually(c.t, "the first results", func() bool { return diff(c.read("out"), wantSums(100, 10)) == nil })
	j.stop()
	p := c.remember()
	c.feed("in", 100, 100, 10)
	j = start(c.t, sums(1), o)
	eventually(c.t, "more results", func() bool { return diff(c.read("out"), wantSums(200, 10)) == nil })
	j.kill()
	return p
}

// The node that leads the checkpoint partition and coordinates the group is cut off while a recovery reads; the slots'
// coordinator is elsewhere, so the fencing succeeds. What it read is an old checkpoint. It is not begun from: before the first
// commit it looks again, from where only the true leader can answer.
func TestARecoveryThatReadAnOldPointerCommitsNothingAndTriesAgain(t *testing.T) {
	for _, times := range []int32{1, 3} {
		t.Run(fmt.Sprint(times, " times"), func(t *testing.T) {
			c := newCluster(t, "in", "out")
			o := c.options(10 * time.Millisecond)
			p := ranTwice(c, o)
			p.last.Store(many)
			p.group.Store(many)
			var misled atomic.Int32
			o.Fault = func(s fault.Step) {
				switch {
				case s == fault.PointerRead && misled.Add(1) <= times:
					p.last.Store(0)
					p.group.Store(0)
				case s == fault.PointerWritten && misled.Load() < times:
					p.last.Store(many) // for the next attempt; this one looks only at what it has written
					p.group.Store(many)
				}
			}
			var restored atomic.Int64
			o.Listener = &checkpoint.Listener{OnRestore: func(e checkpoint.RestoreEvent) { restored.CompareAndSwap(0, e.Checkpoint) }}
			last := c.lastCheckpoint()
			c.feed("in", 200, 100, 10)
			c.exact(start(t, sums(1), o), 300)
			if p.told.Load() == 0 || misled.Load() != times+1 {
				t.Errorf("%d old answers to %d recoveries", p.told.Load(), misled.Load())
			}
			if restored.Load() != last {
				t.Errorf("the job went on from checkpoint %d, want %d", restored.Load(), last)
			}
		})
	}
}

// The same in a job that runs and recovers.
func TestAJobThatRecoversFromAnOldPointerCommitsNothingAndTriesAgain(t *testing.T) {
	c := newCluster(t, "in", "out")
	o := c.options(10 * time.Millisecond)
	p := ranTwice(c, o)
	var recoveries atomic.Int32
	o.Fault = func(s fault.Step) {
		switch s {
		case fault.Fenced:
			if recoveries.Add(1) == 2 {
				p.last.Store(many)
				p.group.Store(many)
			}
		case fault.PointerRead:
			p.last.Store(0)
			p.group.Store(0)
		}
	}
	j := start(t, sums(1), o)
	eventually(t, "the job to run", func() bool { return j.Status().Phase == runtime.Running })
	c.refuseOneCommitOfOffsets()
	c.feed("in", 200, 100, 10)
	c.exact(j, 300)
	if p.told.Load() == 0 || recoveries.Load() != 3 {
		t.Errorf("%d old answers to %d recoveries", p.told.Load(), recoveries.Load())
	}
}

// refuseOneCommitOfOffsets makes the next checkpoint fail, and its attempt end.
func (c *cluster) refuseOneCommitOfOffsets() {
	var once atomic.Bool
	c.fake.ControlKey(int16(kmsg.TxnOffsetCommit), func(r kmsg.Request) (kmsg.Response, error, bool) {
		c.fake.KeepControl()
		if once.Swap(true) {
			return nil, nil, false
		}
		return refusedOffsets(r.(*kmsg.TxnOffsetCommitRequest)), nil, true
	})
}

func refusedOffsets(req *kmsg.TxnOffsetCommitRequest) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.TxnOffsetCommitResponse)
	for _, rt := range req.Topics {
		topic := kmsg.NewTxnOffsetCommitResponseTopic()
		topic.Topic, topic.TopicID = rt.Topic, rt.TopicID
		for _, rp := range rt.Partitions {
			p := kmsg.NewTxnOffsetCommitResponseTopicPartition()
			p.Partition, p.ErrorCode = rp.Partition, kerr.InvalidCommitOffsetSize.Code
			topic.Partitions = append(topic.Partitions, p)
		}
		resp.Topics = append(resp.Topics, topic)
	}
	return resp
}

// lastCheckpoint is the last committed one.
func (c *cluster) lastCheckpoint() (id int64) {
	c.t.Helper()
	all := c.records(checkpointTopic)
	if _, err := fmt.Sscan(string(all[len(all)-1].Key), &id); err != nil {
		c.t.Fatal(err)
	}
	return id
}

// Only the checkpoint partition's node is cut off: the group is ahead of the pointer that it names, as if records were lost.
func TestAGroupAheadOfAnOldPointerIsAskedAgainBeforeRecordsAreTakenForLost(t *testing.T) {
	c := newCluster(t, "in", "out")
	o := c.options(10 * time.Millisecond)
	p := ranTwice(c, o)
	p.last.Store(many)
	o.Fault = func(s fault.Step) {
		if s == fault.PointerRead {
			p.last.Store(0)
		}
	}
	c.feed("in", 200, 100, 10)
	c.exact(start(t, sums(1), o), 300)
	if p.told.Load() == 0 {
		t.Error("no answer was old")
	}
	// If it goes on saying so, it is believed.
	p.last.Store(many)
	o.Fault = nil
	err := start(t, sums(1), o).wait()
	var refused *checkpoint.RefusedError
	if !errors.As(err, &refused) {
		t.Errorf("error %v, want that records are lost", err)
	}
}

// A running job recovers, and one node says once that it has not got as far as the record that holds a delta. Nothing is damaged.
func TestAnOffsetThatANodeDoesNotKnowYetIsNoDamage(t *testing.T) {
	c := newCluster(t, "in", "out")
	o := c.options(10 * time.Millisecond)
	j := start(t, sums(1), o)
	for n := 0; n < 100; n += 20 {
		c.feed("in", n, 20, 10)
		eventually(t, "results", func() bool { return diff(c.read("out"), wantSums(n+20, 10)) == nil })
	}
	said := c.answerOneRead(kerr.OffsetOutOfRange.Code)
	c.refuseOneCommitOfOffsets()
	c.feed("in", 100, 100, 10)
	c.exact(j, 200)
	if !said.Load() {
		t.Error("no record was asked for")
	}
}

// answerOneRead answers the next read of one record of a checkpoint with an error, instead of the broker.
func (c *cluster) answerOneRead(code int16) (said *atomic.Bool) {
	said = &atomic.Bool{}
	c.fake.ControlKey(int16(kmsg.Fetch), func(r kmsg.Request) (kmsg.Response, error, bool) {
		c.fake.KeepControl()
		req := r.(*kmsg.FetchRequest)
		if len(req.Topics) != 1 || len(req.Topics[0].Partitions) != 1 || req.MaxBytes != 1 || said.Swap(true) {
			return nil, nil, false
		}
		resp := req.ResponseKind().(*kmsg.FetchResponse)
		topic := kmsg.NewFetchResponseTopic()
		topic.Topic, topic.TopicID = req.Topics[0].Topic, req.Topics[0].TopicID
		p := kmsg.NewFetchResponseTopicPartition()
		p.Partition, p.ErrorCode = req.Topics[0].Partitions[0].Partition, code
		topic.Partitions = append(topic.Partitions, p)
		resp.Topics = append(resp.Topics, topic)
		return resp, nil, true
	})
	return said
}

// The last checkpoint is damaged, and the list of those before it comes from a node that has not heard of it. A checkpoint of
// that list is not offered: how much going back to it repeats, the list cannot tell.
func TestNothingIsOfferedFromAListThatEndsBeforeTheDamage(t *testing.T) {
	c := newCluster(t, "in", "out")
	o := c.options(10 * time.Millisecond)
	o.Checkpoint.InlineThreshold, o.Checkpoint.Retained = 1, 1000
	p := ranTwice(c, o)
	all := c.pointers(o)
	last := all[len(all)-1]
	files := last.AllFiles()
	damage(t, filepath.Join(o.Checkpoint.Storage, files[len(files)-1].Name), damages["missing"])
	o.Checkpoint.LocalDir = t.TempDir()
	o.Fault = func(s fault.Step) {
		if s == fault.Resolved {
			p.last.CompareAndSwap(0, 1) // the list that follows the damage
		}
	}
	err := start(t, sums(1), o).wait()
	var d *checkpoint.DamagedError
	if p.told.Load() == 0 || errors.As(err, &d) && d.Offer != nil {
		t.Errorf("%d old answers, error %v", p.told.Load(), err)
	}
	o.Fault = nil
	err = start(t, sums(1), o).wait()
	if !errors.As(err, &d) || d.Offer == nil || d.Offer.From != last.Checkpoint {
		t.Errorf("with every node up to date: %v, want an offer", err)
	}
}
