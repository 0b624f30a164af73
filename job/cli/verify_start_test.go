package cli

import (
	"strings"
	"testing"
)

// State that was dropped in the middle of a lineage is in no plain loop: that is said, and nothing is called different.
func TestVerifyRefusesWhatGoesOnWithDroppedState(t *testing.T) {
	b := broker(t)
	file := sums(t, b)
	produceKeyed(t, b, "numbers", "a", `{"key":"a","n":1}`)
	j := start(t, file)
	j.until("a result", func() bool { return len(totals(t, b)) == 1 })
	j.stop()
	if code, out, err := call("verify", file); code != ExitOK {
		t.Fatalf("exit code %d:\n%s%s", code, out, err)
	}
	j = start(t, file, "--drop-state", "sum")
	produceKeyed(t, b, "numbers", "a", `{"key":"a","n":2}`)
	j.until("a result", func() bool { return len(totals(t, b)) == 2 })
	if got := totals(t, b)[1]; got != `{"key":"a","total":2}` && !strings.Contains(got, `\"total\":2`) {
		t.Errorf("got %s", got)
	}
	dir := j.savepoint(t.TempDir() + "/savepoint")
	produceKeyed(t, b, "numbers", "a", `{"key":"a","n":3}`)
	j.until("a result", func() bool { return len(totals(t, b)) == 3 })
	j.stop()
	if code, out, err := call("verify", file); code != ExitUndecided || !strings.Contains(err, "state was dropped since (--drop-state)") {
		t.Errorf("exit code %d:\n%s%s", code, out, err)
	}
	if code, out, err := call("verify", file, "--from", dir); code != ExitOK {
		t.Errorf("from a savepoint behind it: exit code %d:\n%s%s", code, out, err)
	}
}
