package source

import (
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A source that has read all there was fetches no sooner than its job can use what comes: not once for each record.
func TestASourceRestsAsLongAsNobodyNotices(t *testing.T) {
	c := newCluster(t, 1, "views")
	var fetches atomic.Int64
	c.fake.ControlKey(int16(kmsg.Fetch), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.fake.KeepControl()
		fetches.Add(1)
		return nil, nil, false
	})
	s := c.openIn(Env{Rest: func(time.Duration) time.Duration { return time.Hour }}, KafkaOptions{Topics: []string{"views"}})
	r := read(t, s, resolveAll(t, s, nil))
	cl := c.client()
	const n = 300
	began, before := time.Now(), fetches.Load()
	written := make(chan error, 1)
	go func() {
		for i := range n {
			rec := &kgo.Record{Topic: "views", Value: strconv.AppendInt(nil, int64(i), 10)}
			if err := cl.ProduceSync(t.Context(), rec).FirstErr(); err != nil {
				written <- err
				return
			}
		}
		written <- nil
	}()
	got := r.values(n)
	// After each that brings something it rests for mostRest, and one that brings nothing takes as long (FetchMaxWait of open).
	if made, most := fetches.Load()-before, int64(time.Since(began)/mostRest)+2; made > most {
		t.Errorf("%d fetches while %d records came, want %d at most", made, n, most)
	}
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	for i, v := range got {
		if v != strconv.Itoa(i) {
			t.Fatalf("record %d is %s", i, v)
		}
	}
}

func TestTrickles(t *testing.T) {
	little, half := make([]byte, 100), make([]byte, trickle/2+1)
	for _, tc := range []struct {
		name  string
		parts []part
		want  bool
	}{
		{"little", []part{{raw: little}, {raw: little}}, true},
		{"much", []part{{raw: half}, {raw: half}}, false},
	} {
		if got := trickles(tc.parts); got != tc.want {
			t.Errorf("%s: %v", tc.name, got)
		}
	}
}
