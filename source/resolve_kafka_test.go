package source

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirstream/weir/checkpoint"
)

// offsetsOf lists "partition:offset" or, if bounded, "partition:offset-stop".
func offsetsOf(splits []checkpoint.Split) []string {
	var out []string
	for _, s := range splits {
		text := fmt.Sprintf("%d:%d", s.Partition, s.Offset)
		if s.Stop >= 0 {
			text += fmt.Sprintf("-%d", s.Stop)
		}
		if s.Done {
			text += " done"
		}
		out = append(out, text)
	}
	return out
}

func TestStartAndStopAreResolved(t *testing.T) {
	c := newCluster(t, 2, "in")
	var recs []*kgo.Record
	for i := range int64(10) {
		recs = append(recs, &kgo.Record{Topic: "in", Partition: 0, Timestamp: time.UnixMilli(1000 * (i + 1))})
	}
	c.produceRecords(recs...)
	end := c.begin("in", 1, "open")
	defer end(false)
	if _, err := c.admin.DeleteRecords(t.Context(), offsets("in", 0, 2)); err != nil {
		t.Fatal(err)
	}
	if err := c.admin.CommitAllOffsets(t.Context(), "job", offsets("in", 0, 5)); err != nil {
		t.Fatal(err)
	}
	if err := c.admin.CommitAllOffsets(t.Context(), "other", offsets("in", 0, 6)); err != nil {
		t.Fatal(err)
	}
	at := map[string]map[int32]int64{"in": {0: 4, 1: 1}}
	for _, test := range []struct {
		name string
		o    KafkaOptions
		want []string
	}{
		{"default", KafkaOptions{}, []string{"0:2", "1:0"}},
		{"latest is the last stable offset", KafkaOptions{Start: "latest"}, []string{"0:10", "1:0"}},
		{"latest of everything", KafkaOptions{Start: "latest", Isolation: "read_uncommitted"}, []string{"0:10", "1:1"}},
		{"timestamp", KafkaOptions{Start: "timestamp", StartTimestamp: time.UnixMilli(3500)}, []string{"0:3", "1:0"}},
		{"timestamp after all", KafkaOptions{Start: "timestamp", StartTimestamp: time.Now().Add(time.Hour)}, []string{"0:10", "1:0"}},
		{"group of the job", KafkaOptions{Start: "group"}, []string{"0:5", "1:0"}},
		{"another group", KafkaOptions{Start: "group", StartGroup: "other"}, []string{"0:6", "1:0"}},
		{"group without offsets", KafkaOptions{Start: "group", StartGroup: "none"}, []string{"0:2", "1:0"}},
		{"offsets", KafkaOptions{Start: "offsets", StartOffsets: at}, []string{"0:4", "1:1"}},
		{"stop at latest", KafkaOptions{StopAt: "latest"}, []string{"0:2-10", "1:0-0 done"}},
		{"stop at timestamp", KafkaOptions{StopAt: "timestamp", StopTimestamp: time.UnixMilli(3000)}, []string{"0:2-2 done", "1:0-0 done"}},
		{"stop at offsets", KafkaOptions{StopAt: "offsets", StopOffsets: at}, []string{"0:2-4", "1:0-1"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.o.Topics = []string{"in"}
			s := c.open(test.o, nil)
			splits := resolveAll(t, s, nil)
			same(t, offsetsOf(splits), test.want)
			// Resolving what was resolved changes nothing, whatever came meanwhile.
			same(t, offsetsOf(resolveAll(t, s, splits)), offsetsOf(splits))
		})
	}
}

func TestOffsetsThatDoNotExistAreRefused(t *testing.T) {
	c := newCluster(t, 1, "in")
	c.produce("in", 0, "a", "b", "c")
	if _, err := c.admin.DeleteRecords(t.Context(), offsets("in", 0, 2)); err != nil {
		t.Fatal(err)
	}
	try := func(o KafkaOptions, restored []checkpoint.Split) error {
		o.Topics = []string{"in"}
		_, err := c.open(o, nil).Resolve(t.Context(), restored)
		return err
	}
	start := func(o int64) map[string]map[int32]int64 { return map[string]map[int32]int64{"in": {0: o}} }
	wantError[*DataLossError](t, try(KafkaOptions{Start: "offsets", StartOffsets: start(1)}, nil),
		"source views: topic in partition 0: offset 1 is gone (the log starts at 2): records expired before they were read; see on_data_loss")
	wantError[*OptionError](t, try(KafkaOptions{Start: "offsets", StartOffsets: start(9)}, nil), "offset 9 is beyond the end of the log (3)")
	wantError[*OptionError](t, try(KafkaOptions{Start: "offsets", StartOffsets: map[string]map[int32]int64{"in": {4: 0}}}, nil), "partition 4: the topic has only 1 partitions")
	wantError[*OptionError](t, try(KafkaOptions{StopAt: "offsets", StopOffsets: map[string]map[int32]int64{"in": {4: 0}}}, nil), "not listed")
	wantError[*DataLossError](t, try(KafkaOptions{}, []checkpoint.Split{{Topic: "in", Offset: 1, LeaderEpoch: -1, Stop: -1}}), "see on_data_loss")
	wantError[*DataLossError](t, try(KafkaOptions{}, []checkpoint.Split{{Topic: "in", Offset: 4, LeaderEpoch: -1, Stop: -1}}), "the log was cut")
	wantError[*RestoreError](t, try(KafkaOptions{}, []checkpoint.Split{{Topic: "gone", Offset: 0, Stop: -1}}), "topic gone partition 0")

	s := c.open(KafkaOptions{Topics: []string{"in"}, OnDataLoss: "earliest"}, nil)
	same(t, offsetsOf(resolveAll(t, s, []checkpoint.Split{{Topic: "in", Offset: 1, LeaderEpoch: -1, Stop: -1}})), []string{"0:2"})
}

// C19: what was resolved at the first start is kept, also if nothing was read before the restart.
func TestRestoredOffsetsAreNotResolvedAgain(t *testing.T) {
	c := newCluster(t, 1, "in")
	c.produce("in", 0, "before")
	o := KafkaOptions{Topics: []string{"in"}, Start: "latest"}
	kept := resolveAll(t, c.open(o, nil), nil)
	c.produce("in", 0, "a", "b")
	s := c.open(o, nil)
	same(t, read(t, s, resolveAll(t, s, kept)).values(2), []string{"a", "b"})
}

// C20: partitions that appear while the job is down are read from their beginning, whatever start says.
func TestNewPartitionsStartAtTheBeginning(t *testing.T) {
	c := newCluster(t, 1, "in")
	c.produce("in", 0, "old")
	o := KafkaOptions{Topics: []string{"in"}, Start: "latest"}
	kept := resolveAll(t, c.open(o, nil), nil)
	c.grow("in", 3)
	c.produce("in", 2, "x", "y")
	s := c.open(o, nil)
	splits := resolveAll(t, s, kept)
	same(t, offsetsOf(splits), []string{"0:1", "1:0", "2:0"})
	same(t, read(t, s, splits).values(2), []string{"x", "y"})
}

// C21: new partitions are found while the job runs, each by one subtask, without an option being set.
func TestPartitionsAreDiscovered(t *testing.T) {
	var o KafkaOptions
	o.EnsureDefaults()
	if o.DiscoveryInterval <= 0 {
		t.Fatal("discovery is off by default")
	}
	c := newCluster(t, 2, "in")
	c.produce("in", 1, "old")
	s := c.open(KafkaOptions{Topics: []string{"in"}, Start: "latest", DiscoveryInterval: 20 * time.Millisecond}, nil)
	splits := resolveAll(t, s, nil)
	// Both are given to subtask 0, whoever would own them: restored splits may lie anywhere.
	runs := []*run{readAs(t, s, 0, 2, splits), readAs(t, s, 1, 2, nil)}
	runs[0].until(EventSplit)
	runs[0].until(EventSplit)
	c.grow("in", 6)
	for p := int32(2); p < 6; p++ {
		c.produce("in", p, fmt.Sprint("new ", p))
	}
	var want [2][]string
	for p := int32(2); p < 6; p++ {
		owner := OwnerOf("in", p, 2)
		want[owner] = append(want[owner], fmt.Sprint("new ", p))
	}
	for i, r := range runs {
		got := r.values(len(want[i]))
		slices.Sort(got)
		same(t, got, want[i])
		for n, split := range r.splits {
			if i == 0 && n < 2 {
				continue
			}
			if split.Offset != 0 || split.Stop != -1 || split.TopicID != splits[0].TopicID || OwnerOf("in", split.Partition, 2) != i {
				t.Errorf("subtask %d: %+v", i, split)
			}
		}
	}
	eventually(t, "the number of partitions", func() bool { _, n := s.(Discovery).Discovered(); return n == 6 })
}

// C22, at run time: records that expire before they are read are an error, not a jump.
func TestExpiredRecordsFailTheReader(t *testing.T) {
	for policy, want := range map[string]string{"fail": "", "earliest": "c"} {
		t.Run(policy, func(t *testing.T) {
			c := newCluster(t, 1, "in")
			c.produce("in", 0, "a", "b", "c")
			s := c.open(KafkaOptions{Topics: []string{"in"}, OnDataLoss: policy}, nil)
			splits := resolveAll(t, s, nil)
			if _, err := c.admin.DeleteRecords(t.Context(), offsets("in", 0, 2)); err != nil {
				t.Fatal(err)
			}
			r := read(t, s, splits)
			if want != "" {
				same(t, r.values(1), []string{want})
				return
			}
			e := wantError[*DataLossError](t, r.failure(), "offset 0 is gone (the log starts at 2): records expired")
			if e.Kind != LossExpired {
				t.Errorf("kind %d", e.Kind)
			}
		})
	}
}

func TestOffsetBeyondTheEndFailsTheReader(t *testing.T) {
	c := newCluster(t, 1, "in")
	c.produce("in", 0, "a")
	s := c.open(KafkaOptions{Topics: []string{"in"}, OnDataLoss: "earliest"}, nil)
	splits := resolveAll(t, s, nil)
	splits[0].Offset = 10
	e := wantError[*DataLossError](t, read(t, s, splits).failure(), "offset 10 is beyond the end of what the log kept (1)")
	if e.Kind != LossTruncated {
		t.Errorf("kind %d", e.Kind)
	}
}

// C22: a topic that was deleted and made again is not read on, before or while the job runs.
func TestRecreatedTopicIsRefused(t *testing.T) {
	c := newCluster(t, 1, "in")
	c.produce("in", 0, "a")
	s := c.open(KafkaOptions{Topics: []string{"in"}}, nil)
	splits := resolveAll(t, s, nil)
	r := read(t, s, splits)
	same(t, r.values(1), []string{"a"})
	c.recreate("in", 1)
	wantError[*TopicRecreatedError](t, r.failure(), "source views: topic in was deleted and made again")

	c.produce("in", 0, "b", "c")
	_, err := c.open(KafkaOptions{Topics: []string{"in"}}, nil).Resolve(t.Context(), splits)
	e := wantError[*TopicRecreatedError](t, err, "deleted and made again")
	if e.Was != splits[0].TopicID || e.Is == e.Was {
		t.Errorf("got %+v", e)
	}
}

// A topic that is made again is noticed also by a subtask that reads none of it.
func TestRecreatedTopicIsNoticedByDiscovery(t *testing.T) {
	c := newCluster(t, 1, "in")
	s := c.open(KafkaOptions{Topics: []string{"in"}, DiscoveryInterval: 10 * time.Millisecond}, nil)
	resolveAll(t, s, nil)
	r := readAs(t, s, 0, 1, nil)
	c.recreate("in", 1)
	err := r.failure()
	if _, gone := err.(interface{ Unwrap() error }); !gone {
		t.Fatalf("got %v", err)
	}
}

func TestMissingTopicIsAnErrorAtOnce(t *testing.T) {
	c := newCluster(t, 1, "in")
	begin := time.Now()
	_, err := c.open(KafkaOptions{Topics: []string{"in", "nowhere"}}, nil).Resolve(t.Context(), nil)
	e := wantError[*MissingTopicError](t, err, "source views: topic nowhere does not exist")
	if e.Topic != "nowhere" || time.Since(begin) > 5*time.Second {
		t.Errorf("%+v after %s", e, time.Since(begin))
	}
	if topics, err := c.admin.ListTopics(t.Context()); err != nil || topics.Has("nowhere") {
		t.Errorf("the topic was created (%v)", err)
	}
}

func TestDeletedTopicFailsTheReader(t *testing.T) {
	c := newCluster(t, 1, "in")
	s := c.open(KafkaOptions{Topics: []string{"in"}}, nil)
	r := read(t, s, resolveAll(t, s, nil))
	r.until(EventSplit)
	c.drop("in")
	wantError[*MissingTopicError](t, r.failure(), "topic in does not exist")
}

// C23: what a restore brings is read on from where it was; the listing of the brokers only adds to it. (What happens when
// the listing lacks a restored partition: testdata/resolve/restored.)
func TestRestoreGoesOnWhereItWas(t *testing.T) {
	c := newCluster(t, 2, "in")
	c.produce("in", 0, "a", "b")
	c.produce("in", 1, "c", "d")
	o := KafkaOptions{Topics: []string{"in"}}
	s := c.open(o, nil)
	r := read(t, s, resolveAll(t, s, nil))
	r.values(4)
	kept := slices.Clone(r.splits)
	r.stop()
	kept[0].Offset, kept[0].LeaderEpoch = 2, 0
	kept[1].Offset, kept[1].LeaderEpoch = 1, 0
	c.produce("in", 0, "e")
	s = c.open(o, nil)
	splits := resolveAll(t, s, kept[:2])
	same(t, offsetsOf(splits), []string{"0:2", "1:1"})
	got := read(t, s, splits).values(2)
	slices.Sort(got)
	same(t, got, []string{"d", "e"})
}

// C27: an empty topic does not end a source, and its first record is read.
func TestEmptyTopicKeepsTheSourceOpen(t *testing.T) {
	c := newCluster(t, 1, "in")
	s := c.open(KafkaOptions{Topics: []string{"in"}, IdleTimeout: 30 * time.Millisecond}, nil)
	r := read(t, s, resolveAll(t, s, nil))
	r.until(EventIdle)
	c.produce("in", 0, "first")
	if e := r.event(); e.Kind != EventActive {
		t.Fatalf("got %+v", e)
	}
	same(t, r.values(1), []string{"first"})
}

// C28: a bounded source that is restored ends where the first start said, also if it had read everything.
func TestRestoredBoundedSourceEnds(t *testing.T) {
	c := newCluster(t, 2, "in")
	c.produce("in", 0, "a", "b")
	c.produce("in", 1, "c")
	o := KafkaOptions{Topics: []string{"in"}, StopAt: "latest"}
	splits := resolveAll(t, c.open(o, nil), nil)
	c.produce("in", 0, "late")
	c.grow("in", 3)
	c.produce("in", 2, "too new")
	for name, test := range map[string]struct {
		offsets []int64
		want    []string
	}{
		"nothing read":    {[]int64{0, 0}, []string{"a", "b", "c"}},
		"one in part":     {[]int64{1, 1}, []string{"b"}},
		"everything read": {[]int64{2, 1}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			kept := slices.Clone(splits)
			for i, at := range test.offsets {
				kept[i].Offset = at
			}
			s := c.open(o, nil)
			got := read(t, s, resolveAll(t, s, kept)).rest()
			slices.Sort(got)
			same(t, got, test.want)
		})
	}
	// Without stop_at the same checkpoint goes on.
	kept := slices.Clone(splits)
	kept[0].Offset, kept[0].Done, kept[1].Offset, kept[1].Done = 2, true, 1, true
	s := c.open(KafkaOptions{Topics: []string{"in"}}, nil)
	got := read(t, s, resolveAll(t, s, kept)).values(2)
	slices.Sort(got)
	same(t, got, []string{"late", "too new"})
}

func TestReadingGoesOnWhenLeadersMove(t *testing.T) {
	c := newCluster(t, 1, "in")
	s := c.open(KafkaOptions{Topics: []string{"in"}}, nil)
	r := read(t, s, resolveAll(t, s, nil))
	for i := range 6 {
		if err := c.fake.MoveTopicPartition("in", 0, int32(i%2)); err != nil {
			t.Fatal(err)
		}
		v := fmt.Sprint("record ", i)
		c.produce("in", 0, v)
		same(t, r.values(1), []string{v})
	}
}

// Errors that pass by themselves cost time, no record.
func TestPassingErrorsAreRetried(t *testing.T) {
	c := newCluster(t, 1, "in")
	c.produce("in", 0, "a")
	codes := []int16{kerr.NotLeaderForPartition.Code, kerr.UnknownLeaderEpoch.Code, kerr.KafkaStorageError.Code, kerr.OffsetNotAvailable.Code, kerr.UnknownTopicID.Code, kerr.OffsetOutOfRange.Code}
	seen := 0
	c.fake.ControlKey(1, func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		req := kreq.(*kmsg.FetchRequest)
		if seen == len(codes) {
			return nil, nil, false
		}
		c.fake.KeepControl()
		resp := req.ResponseKind().(*kmsg.FetchResponse)
		rt := kmsg.NewFetchResponseTopic()
		rt.Topic, rt.TopicID = req.Topics[0].Topic, req.Topics[0].TopicID
		rp := kmsg.NewFetchResponseTopicPartition()
		rp.ErrorCode = codes[seen]
		seen++
		rt.Partitions = append(rt.Partitions, rp)
		resp.Topics = append(resp.Topics, rt)
		return resp, nil, true
	})
	s := c.open(KafkaOptions{Topics: []string{"in"}}, nil)
	same(t, read(t, s, resolveAll(t, s, nil)).values(1), []string{"a"})
}

func TestCancelledReaderReturnsTheContextsError(t *testing.T) {
	c := newCluster(t, 1, "in")
	s := c.open(KafkaOptions{Topics: []string{"in"}}, nil)
	r := read(t, s, resolveAll(t, s, nil))
	r.until(EventSplit)
	r.stop()
	if err := r.failure(); err != context.Canceled {
		t.Errorf("got %v", err)
	}
}

func TestTopicsNamesEachWithItsID(t *testing.T) {
	c := newCluster(t, 1, "in", "other")
	s := c.open(KafkaOptions{Topics: []string{"other", "in"}}, nil)
	splits := resolveAll(t, s, nil)
	topics := s.Topics()
	if len(topics) != 2 || topics[0].Name != "other" || topics[1].Name != "in" || topics[0].ID != splits[0].TopicID || topics[0].Role != "source" || topics[0].Step != "views" {
		t.Errorf("got %+v", topics)
	}
}
