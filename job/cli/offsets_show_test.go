package cli

import (
	"os"
	"strings"
	"testing"
)

// A topic is asked for where its source reads it: the job's own cluster has one of the same name, with other ends.
func TestOffsetsOfASourceElsewhereAreThoseOfItsCluster(t *testing.T) {
	own, other := broker(t), broker(t)
	file := sums(t, own)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	there := strings.Replace(string(text), "  in: {topics: [numbers],", "  in: {kafka: {brokers: [\""+other+"\"]}, topics: [numbers],", 1)
	if err := os.WriteFile(file, []byte(there), 0o644); err != nil {
		t.Fatal(err)
	}
	produce(t, own, "numbers", sum("x", 1))
	produce(t, other, "numbers", sum("a", 1), sum("b", 1), sum("c", 1))
	j := start(t, file)
	j.until("results", func() bool { return len(totals(t, own)) == 3 })
	j.stop()
	produce(t, other, "numbers", sum("a", 2), sum("b", 2))

	shown := fromJSON[shownOffsets](t, "offsets", "show", file)
	lag, ends, committed := map[string]int64{}, map[string]int64{}, map[string]int64{}
	for _, r := range shown.Offsets {
		at := r.Topic + " " + r.Cluster
		lag[at] += r.Lag
		ends[at] += r.End
		committed[at] += r.Committed
		if r.Checkpoint == nil || *r.Checkpoint != r.Committed {
			t.Errorf("committed and checkpoint differ: %+v", r)
		}
	}
	if len(ends) != 1 || ends["numbers "+other] != 5 || lag["numbers "+other] != 2 || committed["numbers "+other] != 3 {
		t.Errorf("ends %v, lags %v, committed %v", ends, lag, committed)
	}
	if out := says(t, ExitOK, "CLUSTER", "offsets", "show", file); !strings.Contains(out, other) {
		t.Errorf("the clusters are not shown:\n%s", out)
	}

	// By its name alone nobody knows of the other cluster: ends of another topic of that name are not shown as its own.
	shown = fromJSON[shownOffsets](t, "offsets", "show", "sums", "--brokers", own)
	if len(shown.Unknown) != 1 || shown.Unknown[0] != "numbers" {
		t.Errorf("unknown topics %q", shown.Unknown)
	}
	for _, r := range shown.Offsets {
		if r.Topic == "numbers" && (r.End != -1 || r.Lag != -1) {
			t.Errorf("an end of another topic: %+v", r)
		}
	}
	says(t, ExitOK, "topic numbers is not here, or was made again since: if its source reads from another cluster, name the job's file", "offsets", "show", "sums", "--brokers", own)
	says(t, ExitUnreachable, "source in: ", "offsets", "show", file, "--set", "source.in.kafka.brokers=[127.0.0.1:1]")
}
