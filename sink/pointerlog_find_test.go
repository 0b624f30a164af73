package sink

import (
	"errors"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirstream/weir/internal/kafka"
)

func TestFindMakesNoCheckpointTopicAndEnsureDoes(t *testing.T) {
	c := newCluster(t)
	ctx := testContext(t)
	log, err := NewPointerLog(newClient(t, c), LogConfig{Topic: "weir-found", Group: "g"})
	must(t, err)
	for range 2 {
		if err := log.Find(ctx); !errors.Is(err, kafka.ErrNoTopic) {
			t.Fatalf("found: %v", err)
		}
	}
	must(t, log.Ensure(ctx))
	if !log.Made() {
		t.Error("it has not made the topic")
	}
	again, err := NewPointerLog(newClient(t, c), LogConfig{Topic: "weir-found", Group: "g"})
	must(t, err)
	must(t, again.Find(ctx))
	must(t, again.Ensure(ctx))
	if again.Made() || again.TopicID() != log.TopicID() || again.MaxPointerBytes() != log.MaxPointerBytes() {
		t.Errorf("made %t, %x and %x, %d and %d", again.Made(), again.TopicID(), log.TopicID(), again.MaxPointerBytes(), log.MaxPointerBytes())
	}
}

// Who leads is asked for once a recovery, anew by what is read after the fencing, and not before each question.
func TestTheLogsLeaderIsRemembered(t *testing.T) {
	c := newCluster(t)
	ctx := testContext(t)
	log, txns := logAndTransactions(t, newClient(t, c), LogConfig{})
	must(t, complete(ctx, txns, 1))
	_, err := log.Last(ctx)
	must(t, err)
	var asked atomic.Int32
	c.ControlKey(int16(kmsg.Metadata), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		asked.Add(1)
		return nil, nil, false
	})
	last, err := log.Last(ctx)
	must(t, err)
	if _, err := log.At(ctx, last.Offset); err != nil {
		t.Error(err)
	}
	if n := asked.Load(); n < 1 || n > 2 { // the end and the last stable offset are asked for side by side
		t.Errorf("metadata was asked for %d times, want once or twice", n)
	}
}
