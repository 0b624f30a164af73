package txn

import "testing"

func TestVerdictTellsWhoWillEndATransaction(t *testing.T) {
	at, elsewhere := Partition{"t", 1}, Partition{"t", 2}
	open := func(s *State) Open {
		o := Open{Partition: at, Producer: 5, Epoch: 3, State: s}
		if s != nil {
			o.ID = "id"
		}
		return o
	}
	for _, c := range []struct {
		name string
		open Open
		want Verdict
	}{
		{"its coordinator has it", open(&State{State: "Ongoing", Producer: 5, Epoch: 3, Partitions: []Partition{at}}), Ends},
		{"its coordinator has it, and we may not see its partitions", open(&State{State: "Ongoing", Producer: 5, Epoch: 3}), Ends},
		{"it is ending", open(&State{State: "PrepareAbort", Producer: 5, Epoch: 4, Partitions: []Partition{at}}), Ends},
		{"it is over for the coordinator", open(&State{State: "CompleteAbort", Producer: 5, Epoch: 3}), Hangs},
		{"it was committed, and the marker is missing", open(&State{State: "CompleteCommit", Producer: 5, Epoch: 4}), Unmarked},
		{"the same where an epoch is that of many transactions", open(&State{State: "CompleteCommit", Producer: 5, Epoch: 3}), Unmarked},
		{"it is older than what was committed", open(&State{State: "CompleteCommit", Producer: 5, Epoch: 6}), Hangs},
		{"nothing was begun", open(&State{State: "Empty", Producer: 5, Epoch: 3}), Hangs},
		{"the coordinator has one without this partition", open(&State{State: "Ongoing", Producer: 5, Epoch: 3, Partitions: []Partition{elsewhere}}), Hangs},
		{"the ID has another producer now", open(&State{State: "Ongoing", Producer: 6, Epoch: 0, Partitions: []Partition{at}}), Hangs},
		{"nobody knows the producer", open(nil), Unclear},
		{"the ID has expired", open(&State{State: None}), Unclear},
	} {
		if got := c.open.Verdict(); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
