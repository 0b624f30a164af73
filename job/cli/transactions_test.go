package cli

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// openTransaction writes a record in a transaction that it leaves open, as a process that was killed does.
func openTransaction(t *testing.T, broker, id, topic string) {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(broker), kgo.TransactionalID(id), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	if err := cl.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	if err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Value: []byte("1")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

func TestTransactionsOfAJobAreListedAndAborted(t *testing.T) {
	b := broker(t)
	file := sums(t, b)
	produce(t, b, "numbers", `{"key":"a","n":1}`)
	j := start(t, file)
	j.until("a result", func() bool { return len(totals(t, b)) == 1 })
	code, stdout, stderr := call("transactions", "list", "sums", "--brokers", b)
	if code != ExitOK || strings.Count(stdout, "weir.sums.0.") != 4 {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
	j.stop()

	openTransaction(t, b, "weir.sums.0.1", "totals")
	code, stdout, stderr = call("transactions", "list", file, "--json", "--all")
	var listed listedTransactions
	if err := json.Unmarshal([]byte(stdout), &listed); err != nil || code != ExitOK {
		t.Fatalf("exit code %d: %v: %s%s", code, err, stdout, stderr)
	}
	if s := listed.Own[1]; s.State != "Ongoing" || len(s.Partitions) != 1 || s.Partitions[0].String() != "totals/0" || len(listed.Others) != 0 {
		t.Errorf("%s", stdout)
	}
	// Without --yes nothing is done.
	for range 2 {
		code, stdout, stderr = call("transactions", "abort", file, "--address", "off")
		if code != ExitOK || !strings.Contains(stdout, "weir.sums.0.1: Ongoing") || !strings.Contains(stdout, "nothing was done") || !strings.Contains(stdout, "from checkpoint ") {
			t.Errorf("exit code %d: %s%s", code, stdout, stderr)
		}
	}
	if code, stdout, stderr = call("transactions", "abort", "sums", "--brokers", b, "--address", "off", "--yes"); code != ExitOK || !strings.Contains(stdout, "weir.sums.0.1: aborted") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
	if code, stdout, _ = call("transactions", "abort", file, "--address", "off", "--yes"); code != ExitOK || !strings.Contains(stdout, "has no open transaction") {
		t.Errorf("exit code %d: %s", code, stdout)
	}
	// What was lost: nothing. The job goes on where it was.
	produce(t, b, "numbers", `{"key":"a","n":2}`)
	j = start(t, file)
	j.until("the next result", func() bool { return len(totals(t, b)) == 2 })
	if got := totals(t, b); got[1] != `{"key":"a","total":3}` {
		t.Errorf("%v", got)
	}
	j.stop()
}

func TestTransactionsOfARunningJobAreNotAborted(t *testing.T) {
	b := broker(t)
	file := sums(t, b)
	j := start(t, file)
	// A slot that is not due for a while; its owner does not know.
	openTransaction(t, b, "weir.sums.0.3", "numbers")
	code, stdout, stderr := call("transactions", "abort", file, "--address", j.address, "--yes")
	if code != ExitOther || !strings.Contains(stderr, "job sums runs at http://"+j.address) || strings.Contains(stdout, "aborted") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
	if code, stdout, stderr := call("transactions", "abort", file, "--address", j.address, "--yes", "--force"); code != ExitOK || !strings.Contains(stdout, "weir.sums.0.3: aborted") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
	// Its attempt may have ended; the job has not.
	produce(t, b, "numbers", `{"key":"a","n":2}`)
	j.until("a result", func() bool { return len(totals(t, b)) == 1 })
	j.stop()
}

// Whatever of its own is open at a moment: nothing, a transaction, or one that is being committed.
func TestAbortIsRefusedWhileTheJobRunsWhateverIsOpen(t *testing.T) {
	b := broker(t)
	file := sums(t, b)
	j := start(t, file)
	for range 5 {
		produce(t, b, "numbers", `{"key":"a","n":1}`)
		code, stdout, stderr := call("transactions", "abort", file, "--address", j.address, "--yes")
		if code != ExitOther || !strings.Contains(stderr, "job sums runs at http://"+j.address) || stdout != "" {
			t.Errorf("exit code %d: %s%s", code, stdout, stderr)
		}
	}
	// Without its address its transactions tell, as long as it has something to do.
	feeding, done := context.WithCancel(t.Context())
	var feeder sync.WaitGroup
	feeder.Go(func() {
		for feeding.Err() == nil {
			produce(t, b, "numbers", `{"key":"a","n":1}`)
		}
	})
	code, stdout, stderr := call("transactions", "abort", "sums", "--brokers", b, "--address", "off", "--yes")
	if code != ExitOther || !strings.Contains(stderr, "job sums runs somewhere") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
	done()
	feeder.Wait()
	j.stop()
}

func TestTransactionOfSomebodyElseIsShownAndAborted(t *testing.T) {
	b := broker(t)
	file := sums(t, b)
	openTransaction(t, b, "somebody", "numbers")
	if code, stdout, stderr := call("transactions", "list", file, "--all"); code != ExitOK || !strings.Contains(stdout, "somebody") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
	for _, c := range []struct {
		name string
		args []string
		code int
		says string
	}{
		{"where it begins has to be said", nil, ExitUsage, "open since offset 0"},
		{"where it does not begin", []string{"--start-offset", "7", "--yes"}, ExitUsage, "open since offset 0"},
		{"its owner may be at work", []string{"--start-offset", "0", "--yes"}, ExitOther, "does not hang"},
		{"only shown", []string{"--start-offset", "0", "--force"}, ExitOK, "nothing was done"},
		{"aborted", []string{"--start-offset", "0", "--force", "--yes"}, ExitOK, "somebody: aborted"},
		{"over", []string{"--start-offset", "0", "--yes"}, ExitOther, "no transaction is open"},
	} {
		code, stdout, stderr := call(append([]string{"transactions", "abort", file, "--topic", "numbers", "--partition", "0"}, c.args...)...)
		if code != c.code || !strings.Contains(stdout+stderr, c.says) {
			t.Errorf("%s: exit code %d, want %d and %q: %s%s", c.name, code, c.code, c.says, stdout, stderr)
		}
	}
	for _, args := range [][]string{{"--partition", "0"}, {"--topic", "numbers"}} {
		if code, _, stderr := call(append([]string{"transactions", "abort", file}, args...)...); code != ExitUsage {
			t.Errorf("%v: exit code %d: %s", args, code, stderr)
		}
	}
}
