package sink
import ("testing";"time";"fmt";"os";"errors";"github.com/twmb/franz-go/pkg/kgo")
func TestDbg(t *testing.T) {
	if os.Getenv("DBG")=="" { t.Skip() }
	cl := realClient(t)
	for i := range 3 {
	ctx := testContext(t)
	job := fmt.Sprintf("dbg-%d", time.Now().UnixNano())
	createTopic(t, cl, job, 4)
	c := testConfig(cl)
	c.Job, c.CheckpointTopic = job, "weir."+job+".checkpoints"
	log, _ := NewPointerLog(cl, LogConfig{Topic: c.CheckpointTopic, Group: job})
	must(t, log.Ensure(ctx))
	first := newTransactions(t, c)
	must(t, first.Fence(ctx))
	first.Begin(1)
	w, err := first.Writer(ctx, job)
	must(t, err)
	n := 0
	write := func(w Writer, count int) { for range count { must(t, w.Write(record(fmt.Sprintf("k%d", n%10), fmt.Sprint(n)))); n++ } }
	const rounds = 40
	for checkpoint := int64(1); checkpoint <= rounds; checkpoint++ {
		write(w, 50); must(t, w.Barrier(checkpoint)); write(w, 1); must(t, w.Flush()); must(t, complete(ctx, first, checkpoint))
	}
	want := n-1
	write(w, 50)
	must(t, w.Barrier(rounds+1))
	must(t, first.Flush(ctx, rounds+1))
	second := newTransactions(t, c)
	must(t, second.Fence(ctx))
	_, err = log.Last(ctx)
	must(t, err)
	var fenced *FencedError
	if err := complete(ctx, first, rounds+1); !errors.As(err, &fenced) { t.Errorf("%v", err) }
	must(t, complete(ctx, second, rounds+1))
	lso := stableOffsets(t, cl, job, kgo.ReadCommitted()); hw := stableOffsets(t, cl, job, kgo.ReadUncommitted())
	got := len(committed(t, cl, job))
	if got != want {
		t.Logf("run %d: %d want %d lso %v hw %v", i, got, want, lso, hw)
		for range 10 {
			time.Sleep(300*time.Millisecond)
			t.Logf("  later: %d lso %v", len(committed(t, cl, job)), stableOffsets(t, cl, job, kgo.ReadCommitted()))
		}
	}
	}
}
