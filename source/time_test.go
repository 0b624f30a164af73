//go:build synctests

package source

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// These tests run on synctest's clock: go test -tags synctests ./source/

// virtual makes a cluster on an in-memory network inside a synctest bubble.
func virtual(t *testing.T, partitions int32, topics ...string) *cluster {
	network := new(kfake.VirtualNetwork)
	fake, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.Ports(19400), kfake.ListenFn(network.Listen), kfake.SeedTopics(partitions, topics...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fake.Close)
	c := &cluster{t: t, fake: fake, opts: []kgo.Opt{kgo.SeedBrokers(fake.ListenAddrs()...), kgo.Dialer(network.DialContext), kgo.DisableClientMetrics()}}
	c.admin = kadm.NewClient(c.client())
	return c
}

// defaults opens a source with every option at its default.
func (c *cluster) defaults(topics ...string) Source {
	dial := func(_ context.Context, extra ...kgo.Opt) (*kgo.Client, error) {
		return kgo.NewClient(append(c.opts[:len(c.opts):len(c.opts)], extra...)...)
	}
	s, err := Kafka(KafkaOptions{Topics: topics}).Open(c.t.Context(), Env{Dial: dial, Name: "views"})
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(s.Close)
	return s
}

// C27, C30: a topic that stays empty for an hour is idle after the timeout and one tick, and its first record is read.
func TestEmptyForAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := virtual(t, 1, "in")
		s := c.defaults("in")
		splits := resolveAll(t, s, nil)
		began := time.Now()
		r := read(t, s, splits)
		r.until(EventIdle)
		if took := time.Since(began); took < 5*time.Second || took > 5*time.Second+510*time.Millisecond {
			t.Errorf("idle after %s", took)
		}
		time.Sleep(time.Hour)
		select {
		case e := <-r.events:
			t.Errorf("got %+v", e)
		case err := <-r.err:
			t.Fatalf("ended: %v", err)
		default:
		}
		c.produce("in", 0, "first")
		if e := r.event(); e.Kind != EventActive {
			t.Errorf("got %+v", e)
		}
		same(t, r.values(1), []string{"first"})
	})
}

// A split that is busy keeps nobody else from becoming idle, however busy it is.
func TestBusySplitDoesNotHideAnIdleOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := virtual(t, 2, "in")
		s := c.defaults("in")
		splits := resolveAll(t, s, nil)
		began := time.Now()
		r := read(t, s, splits)
		producer := c.client(kgo.RecordPartitioner(kgo.ManualPartitioner()))
		stop := make(chan struct{})
		done := make(chan struct{})
		go func() {
			defer close(done)
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				case <-time.After(100 * time.Millisecond):
					producer.ProduceSync(context.Background(), &kgo.Record{Topic: "in", Partition: 1, Value: fmt.Append(nil, i)})
				}
			}
		}()
		e := r.until(EventIdle)
		if took := time.Since(began); e.Index != 0 || took < 5*time.Second || took > 5*time.Second+510*time.Millisecond {
			t.Errorf("split %d idle after %s", e.Index, took)
		}
		close(stop)
		<-done
	})
}

// Without a broker that serves it, a split is an error after a minute, one that names it and the cause; it is never idle.
func TestUnreachableSplitIsAnErrorAfterAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := virtual(t, 1, "in")
		s := c.defaults("in")
		splits := resolveAll(t, s, nil)
		c.fake.ControlKey(1, func(kreq kmsg.Request) (kmsg.Response, error, bool) {
			c.fake.KeepControl()
			req := kreq.(*kmsg.FetchRequest)
			resp := req.ResponseKind().(*kmsg.FetchResponse)
			rt := kmsg.NewFetchResponseTopic()
			rt.Topic, rt.TopicID = req.Topics[0].Topic, req.Topics[0].TopicID
			rp := kmsg.NewFetchResponseTopicPartition()
			rp.ErrorCode = kerr.KafkaStorageError.Code
			rt.Partitions = append(rt.Partitions, rp)
			resp.Topics = append(resp.Topics, rt)
			return resp, nil, true
		})
		began := time.Now()
		r := read(t, s, splits)
		r.until(EventSplit)
		err := r.failure3m()
		wantError[*kerr.Error](t, err, "source views: topic in partition 0: not readable for 1m0s: KAFKA_STORAGE_ERROR")
		if took := time.Since(began); took < time.Minute || took > time.Minute+5*time.Second {
			t.Errorf("after %s", took)
		}
	})
}

// failure3m is failure with more patience.
func (r *run) failure3m() error {
	r.t.Helper()
	select {
	case e := <-r.events:
		r.t.Fatalf("got %+v", e)
	case err := <-r.err:
		return err
	case <-time.After(3 * time.Minute):
		r.t.Fatal("the reader does not end")
	}
	return nil
}
