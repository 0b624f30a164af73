package model

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

var everyNight = os.Getenv("WEIR_MODEL") == "nightly"

// within are the bounds that every go test looks at; nightly those of WEIR_MODEL=nightly.
var (
	within = []Config{
		{Processes: 1, Records: 3, Checkpoints: 5, Concurrent: 3, TransactionVersion: 2, Crashes: 1, Network: 1, Timeouts: 1, InOrder: true},
		{Processes: 1, Records: 2, Checkpoints: 5, Concurrent: 2, TransactionVersion: 1, Crashes: 1, Network: 1, Timeouts: 1, Losses: 1, From: 1, InOrder: true},
		{Processes: 2, Records: 2, Checkpoints: 4, Concurrent: 1, TransactionVersion: 2, InOrder: true},
		{Processes: 2, Records: 1, Checkpoints: 3, Concurrent: 1, TransactionVersion: 2, Crashes: 1, Latest: true, InOrder: true},
		{Processes: 2, Records: 1, Checkpoints: 3, Concurrent: 1, TransactionVersion: 2, Losses: 1, From: 1, InOrder: true},
		{Processes: 2, Records: 1, Checkpoints: 2, Concurrent: 1, TransactionVersion: 2, Network: 1, InOrder: true},
		{Processes: 2, Records: 1, Checkpoints: 2, Concurrent: 1, TransactionVersion: 2, Timeouts: 1, InOrder: true},
		{Processes: 2, Records: 1, Checkpoints: 2, Concurrent: 1, TransactionVersion: 2, Strangers: 1, InOrder: true},
		{Processes: 3, Records: 1, Checkpoints: 1, Concurrent: 1, TransactionVersion: 2, InOrder: true},
		{Processes: 1, Records: 2, Checkpoints: 4, Concurrent: 2, TransactionVersion: 2, Stale: 3, Crashes: 1, From: 1, InOrder: true},
		{Processes: 1, Records: 2, Checkpoints: 4, Concurrent: 1, TransactionVersion: 2, Stale: 2, Network: 1, Timeouts: 1, InOrder: true, Only: Output},
		{Processes: 2, Records: 1, Checkpoints: 2, Concurrent: 1, TransactionVersion: 2, Stale: 2, InOrder: true},
	}
	nightly = []Config{
		{Processes: 1, Records: 3, Checkpoints: 6, Concurrent: 3, TransactionVersion: 2, Crashes: 2, Network: 1, Timeouts: 1, Strangers: 1, Losses: 1, From: 1, Latest: true},
		{Processes: 2, Records: 2, Checkpoints: 4, Concurrent: 1, TransactionVersion: 2},
		{Processes: 2, Records: 2, Checkpoints: 5, Concurrent: 2, TransactionVersion: 2, Network: 1, InOrder: true},
		{Processes: 2, Records: 2, Checkpoints: 4, Concurrent: 2, TransactionVersion: 2, Timeouts: 1, Strangers: 1, InOrder: true},
		{Processes: 2, Records: 2, Checkpoints: 4, Concurrent: 1, TransactionVersion: 1, Crashes: 1, Network: 1, InOrder: true},
		{Processes: 2, Records: 2, Checkpoints: 4, Concurrent: 1, TransactionVersion: 2, Crashes: 1, Losses: 1, From: 1, InOrder: true},
		{Processes: 3, Records: 1, Checkpoints: 3, Concurrent: 1, TransactionVersion: 2, Crashes: 1, InOrder: true},
		{Processes: 3, Records: 1, Checkpoints: 2, Concurrent: 1, TransactionVersion: 2, Network: 1, InOrder: true},
		{Processes: 2, Records: 1, Checkpoints: 3, Concurrent: 1, TransactionVersion: 2, Stale: 2, Crashes: 1, InOrder: true},
	}
)

func TestTheProtocolHoldsWithinTheBounds(t *testing.T) {
	bounds := within
	if everyNight {
		bounds = nightly
	}
	var states, moves int
	var reached uint16
	for _, c := range bounds {
		began := time.Now()
		r := Explore(c, 0)
		states, moves, reached = states+r.States, moves+r.Moves, reached|r.Reached
		t.Logf("%s: %d states, %d moves, depth %d, %s", c, r.States, r.Moves, r.Depth, time.Since(began).Round(time.Millisecond))
		switch {
		case r.Violation != 0:
			t.Errorf("%s: %s\n%s", r.Violation, r.Text, strings.Join(r.Trace, "\n"))
		case !r.Complete:
			t.Error("a state had no room for a move: maxLog or maxOut is too small for these bounds")
		}
	}
	t.Logf("%d states, %d moves", states, moves)
	if all := uint16(1)<<(refused+1) - 1; reached != all {
		t.Errorf("places of the program that no process came to: %b", all&^reached)
	}
}

// A search that never finishes a job would find nothing wrong with it either.
func TestOneProcessCommitsTheWholeInput(t *testing.T) {
	r := Explore(Config{Processes: 1, Records: 4, Checkpoints: 6, Concurrent: 3, TransactionVersion: 2}, 0)
	if !r.Finished || !r.Complete || r.Violation != 0 {
		t.Errorf("%+v", r)
	}
}

func TestProcessesThatChangePlacesMakeNoOtherState(t *testing.T) {
	e := newExplorer(Config{Processes: 3, Records: 1, Checkpoints: 3, Concurrent: 1, TransactionVersion: 2, Crashes: 1, Network: 1})
	s := e.initial()
	for step := range 200 {
		moves := e.moves(&s)
		s = moves[(step*7)%len(moves)].state
		swapped := s
		swapped.procs[0], swapped.procs[1], swapped.procs[2] = s.procs[2], s.procs[0], s.procs[1]
		a, _ := s.hash(nil)
		if b, _ := swapped.hash(nil); a != b {
			t.Fatalf("step %d: two hashes of\n%+v", step, s)
		}
	}
}

func (c Config) String() string {
	return fmt.Sprintf("processes %d (--from: %d) records %d checkpoints %d concurrent %d transaction.version %d crashes %d network %d timeouts %d strangers %d losses %d stale %d in order %v",
		c.Processes, c.From, c.Records, c.Checkpoints, c.Concurrent, c.TransactionVersion, c.Crashes, c.Network, c.Timeouts, c.Strangers, c.Losses, c.Stale, c.InOrder)
}
