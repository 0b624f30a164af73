package job_test

import (
	"context"
	"sync"
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
	"github.com/weirstream/weir/source"
)

// Rules 2 and 10: IDs are dense over attempts, and an attempt begins with a checkpoint of its own, before it reads.
func TestEachAttemptBeginsWithTheNextCheckpointAndNothingElse(t *testing.T) {
	c := newCluster(t, "in", "out")
	o := c.options(5 * time.Millisecond)
	for range 3 {
		begun := make(chan struct{})
		o.Fault = func(s fault.Step) {
			if s == fault.Begun {
				close(begun)
			}
		}
		j := start(t, sums(1), o)
		select {
		case <-begun:
			j.kill()
		case err := <-j.done:
			t.Fatal(err)
		}
	}
	o.Fault = nil
	c.feed("in", 0, 100, 10)
	j := start(t, sums(1), o)
	eventually(t, "the results", func() bool { return diff(c.read("out"), wantSums(100, 10)) == nil })
	j.stop()
	all := c.pointers(o)
	attempts := map[string]bool{}
	for i, p := range all {
		if p.Checkpoint != int64(i+1) {
			t.Errorf("pointer %d is of checkpoint %d", i+1, p.Checkpoint)
		}
		if i < 4 && (!p.First || attempts[p.Attempt]) {
			t.Errorf("checkpoint %d is not the first of an attempt", p.Checkpoint)
		}
		attempts[p.Attempt] = true
		for _, s := range p.Sources {
			if len(s.Splits) != 4 {
				t.Errorf("checkpoint %d has %d splits", p.Checkpoint, len(s.Splits))
			}
			for _, split := range s.Splits {
				if p.First && split.Offset != 0 {
					t.Errorf("checkpoint %d: split %d has been read up to %d", p.Checkpoint, split.Partition, split.Offset)
				}
			}
		}
	}
	if len(all) < 5 || len(attempts) != 4 {
		t.Errorf("%d pointers of %d attempts", len(all), len(attempts))
	}
}

// Rule 5: the pointer is read after the fencing, so nobody commits one that is not seen.
func TestNothingIsCommittedBetweenTheFencingAndThePointer(t *testing.T) {
	c := newCluster(t, "in", "out")
	o := c.options(5 * time.Millisecond)
	c.feed("in", 0, 500, 10)
	first := start(t, sums(1), o)
	eventually(t, "the first results", func() bool { return diff(c.read("out"), wantSums(500, 10)) == nil })
	read, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	slow := o
	slow.Fault = func(s fault.Step) {
		if s == fault.PointerRead {
			// The first time is that of the look before anybody is fenced, if there is one.
			once.Do(func() {
				close(read)
				<-goOn
			})
		}
	}
	second := start(t, sums(1), slow)
	<-read
	last := first.Status().Checkpoint
	c.feed("in", 500, 500, 10)
	eventually(t, "the first process to be fenced", func() bool {
		return first.Status().Phase != runtime.Running || first.Status().Error != "" || first.Status().Checkpoint > last+1
	})
	if got := first.Status().Checkpoint; got > last+1 {
		t.Errorf("the first process has committed checkpoint %d since the second read the last pointer, %d", got, last)
	}
	close(goOn)
	eventually(t, "the second to run", func() bool { return second.Status().Phase == runtime.Running })
	eventually(t, "all results", func() bool { return diff(c.read("out"), wantSums(1000, 10)) == nil })
	second.stop()
}

// groupOffsets are the offsets of a job's group for a topic.
func (c *cluster) groupOffsets(job, topic string) map[int32]int64 {
	c.t.Helper()
	var o checkpoint.Options
	o.EnsureDefaults()
	fetched, err := kadm.NewClient(c.client).FetchOffsets(context.Background(), o.GroupID(job))
	if err != nil {
		c.t.Fatal(err)
	}
	out := map[int32]int64{}
	fetched.Each(func(r kadm.OffsetResponse) {
		if r.Topic == topic {
			out[r.Partition] = r.At
		}
	})
	return out
}

// Rule 18: the group's offsets are those of the last pointer.
func TestTheGroupIsWhereThePointerIs(t *testing.T) {
	c := newCluster(t, "in", "out")
	c.feed("in", 0, 300, 8)
	o := c.options(5 * time.Millisecond)
	j := start(t, sums(1), o)
	eventually(t, "the results", func() bool { return diff(c.read("out"), wantSums(300, 8)) == nil })
	j.stop()
	all := c.pointers(o)
	got := c.groupOffsets("sums", "in")
	for _, s := range all[len(all)-1].Sources[0].Splits {
		if s.Offset == 0 || got[s.Partition] != s.Offset {
			t.Errorf("partition %d: the group is at %d, the pointer at %d", s.Partition, got[s.Partition], s.Offset)
		}
	}
	if got := c.groupOffsets("sums", "weir.sums.checkpoints"); len(got) != 1 {
		t.Errorf("offsets of the checkpoint topic: %v", got)
	}
}

// across copies a topic of another cluster.
func across(there *cluster) *job.Graph {
	g := job.New("across")
	from := job.From(g, "in", in("in"), job.Raw, job.Cluster(job.Kafka{Brokers: there.addrs}))
	job.To(from, "out", out("out"), job.RawOut)
	return g
}

func TestASourceOnAnotherClusterHasItsGroupThere(t *testing.T) {
	there, here := newCluster(t, "in"), newCluster(t, "out")
	there.feed("in", 0, 100, 4)
	finish(t, across(there), here.options(10*time.Millisecond))
	if got := there.groupOffsets("across", "in"); len(got) != 4 || got[0] != 25 || got[3] != 25 {
		t.Errorf("the group is at %v", got)
	}
}

// Rule 18: a cluster that does not take the offsets of its sources fails no checkpoint.
func TestAFailureOnAnotherClusterFailsNoCheckpoint(t *testing.T) {
	there, here := newCluster(t, "in"), newCluster(t, "out")
	there.feed("in", 0, 100, 4)
	var refused atomic.Int64
	there.fake.ControlKey(int16(kmsg.OffsetCommit), func(req kmsg.Request) (kmsg.Response, error, bool) {
		there.fake.KeepControl()
		refused.Add(1)
		resp := req.ResponseKind().(*kmsg.OffsetCommitResponse)
		for _, t := range req.(*kmsg.OffsetCommitRequest).Topics {
			rt := kmsg.NewOffsetCommitResponseTopic()
			rt.Topic, rt.TopicID = t.Topic, t.TopicID
			for _, p := range t.Partitions {
				rp := kmsg.NewOffsetCommitResponseTopicPartition()
				rp.Partition, rp.ErrorCode = p.Partition, kerr.GroupAuthorizationFailed.Code
				rt.Partitions = append(rt.Partitions, rp)
			}
			resp.Topics = append(resp.Topics, rt)
		}
		return resp, nil, true
	})
	g := job.New("across")
	from := job.From(g, "in", source.Kafka(source.KafkaOptions{Topics: []string{"in"}}), job.Raw, job.Cluster(job.Kafka{Brokers: there.addrs}))
	job.To(from, "out", out("out"), job.RawOut)
	j := start(t, g, here.options(5*time.Millisecond))
	eventually(t, "the first records", func() bool { return len(here.records("out")) == 100 })
	eventually(t, "a refusal", func() bool { return refused.Load() > 0 })
	there.feed("in", 100, 100, 4)
	eventually(t, "the others", func() bool { return len(here.records("out")) == 200 })
	j.stop()
	if n := j.Metrics().Restarts.Load(); n != 0 {
		t.Errorf("%d restarts", n)
	}
}

// A checkpoint waits for the brokers to acknowledge its output; that they take their time is no reason for a restart.
func TestACheckpointWaitsForItsOutput(t *testing.T) {
	c := newCluster(t, "in", "out")
	topics, err := kadm.NewClient(c.client).ListTopics(context.Background(), "out")
	if err != nil {
		t.Fatal(err)
	}
	o := c.options(5 * time.Millisecond)
	held, release, encoded := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var first, once sync.Once
	c.fake.ControlKey(int16(kmsg.Produce), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.fake.KeepControl()
		select {
		case <-release:
			return nil, nil, false
		default:
		}
		for _, topic := range req.(*kmsg.ProduceRequest).Topics {
			if topic.TopicID == topics["out"].ID {
				c.fake.SleepControl(func() {
					first.Do(func() { close(held) })
					<-release
				})
			}
		}
		return nil, nil, false
	})
	var flushed, acknowledged atomic.Bool
	o.Fault = func(s fault.Step) {
		switch s {
		case fault.Encoded:
			once.Do(func() { close(encoded) })
		case fault.Flushed:
			flushed.Store(flushed.Load() || !acknowledged.Load())
		}
	}
	c.feed("in", 0, 100, 10)
	j := start(t, sums(1), o)
	<-held
	<-encoded
	<-time.After(100 * time.Millisecond) // many intervals
	if flushed.Load() {
		t.Error("a checkpoint is prepared whose output is not acknowledged")
	}
	acknowledged.Store(true)
	close(release)
	eventually(t, "the results", func() bool { return diff(c.read("out"), wantSums(100, 10)) == nil })
	j.stop()
	if n := j.Metrics().Restarts.Load(); n != 0 {
		t.Errorf("%d restarts", n)
	}
}
