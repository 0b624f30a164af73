//go:build synctests

package job_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/runtime"
	"github.com/weirstream/weir/job"
)

// These tests run on synctest's clock: go test -tags synctests ./job

// An idle job sends nothing that writes or commits, however long it is idle, and the first record after is processed.
func TestTenMinutesOfIdleness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, o := virtual(t, "in", "out")
		c.feed("in", 0, 100, 10)
		j := start(t, sums(2), o)
		eventually(t, "the results", func() bool { return diff(c.read("out"), wantSums(100, 10)) == nil })
		var writes atomic.Int64
		c.fake.Control(func(req kmsg.Request) (kmsg.Response, error, bool) {
			c.fake.KeepControl()
			switch req.(type) {
			case *kmsg.ProduceRequest, *kmsg.TxnOffsetCommitRequest, *kmsg.OffsetCommitRequest, *kmsg.EndTxnRequest,
				*kmsg.InitProducerIDRequest, *kmsg.AddPartitionsToTxnRequest, *kmsg.DeleteRecordsRequest:
				writes.Add(1)
			}
			return nil, nil, false
		})
		time.Sleep(20 * time.Second) // the cleaner's last round
		writes.Store(0)
		last := j.Status().Checkpoint
		time.Sleep(10 * time.Minute)
		if n := writes.Load(); n != 0 {
			t.Errorf("%d requests that write, of an idle job", n)
		}
		if got := j.Status().Checkpoint; got != last {
			t.Errorf("%d checkpoints of an idle job", got-last)
		}
		c.feed("in", 100, 1, 10)
		eventually(t, "the first record after", func() bool { return diff(c.read("out"), wantSums(101, 10)) == nil })
		j.stop()
	})
}

// A broker that is gone for an hour stops nothing for good.
func TestJobOutlivesAnHourWithoutABroker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, o := virtual(t, "in", "out")
		c.feed("in", 0, 100, 10)
		j := start(t, sums(1), o)
		eventually(t, "the results", func() bool { return diff(c.read("out"), wantSums(100, 10)) == nil })
		c.feed("in", 100, 100, 10)
		var away atomic.Bool
		away.Store(true)
		c.fake.Control(func(kmsg.Request) (kmsg.Response, error, bool) {
			c.fake.KeepControl()
			if away.Load() {
				return nil, errCrash, true
			}
			return nil, nil, false
		})
		time.Sleep(time.Hour)
		away.Store(false)
		time.Sleep(2 * time.Minute) // the restart strategy's longest delay, and more
		eventually(t, "the job to run", func() bool { return j.Status().Phase == runtime.Running })
		eventually(t, "the results", func() bool { return diff(c.read("out"), wantSums(200, 10)) == nil })
		j.stop()
	})
}

// A process that has nothing to commit notices within seconds that another one has taken over.
func TestIdleProcessNoticesThatItWasTakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, o := virtual(t, "in", "out")
		c.feed("in", 0, 100, 10)
		first := start(t, sums(1), o)
		eventually(t, "the results", func() bool { return diff(c.read("out"), wantSums(100, 10)) == nil })
		second := start(t, sums(1), o)
		eventually(t, "the second to run", func() bool { return second.Status().Phase == runtime.Running })
		var taken *checkpoint.TakenOverError
		if err := first.wait(); !errors.As(err, &taken) {
			t.Errorf("the first process ended with %v", err)
		}
		second.stop()
	})
}

// virtual makes a cluster on a network in memory, inside a bubble.
func virtual(t *testing.T, topics ...string) (*cluster, job.Options) {
	network := new(kfake.VirtualNetwork)
	fake, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.Ports(19500), kfake.ListenFn(network.Listen), kfake.SeedTopics(4, topics...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fake.Close)
	c := &cluster{t: t, fake: fake, addrs: fake.ListenAddrs(), opts: []kgo.Opt{kgo.Dialer(network.DialContext), kgo.DisableClientMetrics()}}
	c.client = c.connect(kgo.RecordPartitioner(kgo.ManualPartitioner()))
	dir := t.TempDir()
	return c, job.Options{
		Kafka: job.Kafka{Brokers: c.addrs, Dialer: network.DialContext},
		Checkpoint: checkpoint.Options{
			Interval: 20 * time.Millisecond, LocalDir: dir + "/local", Storage: dir + "/state",
		},
	}
}
