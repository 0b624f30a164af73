package model

import (
	"strings"
	"testing"
)

// planted is a departure with a search that is large enough to find it.
type planted struct {
	departure Departure
	Config
	// text is part of what is found.
	text string
}

// two and one are small searches: two processes that fence in order, and one process with a few faults.
var (
	two = Config{Processes: 2, Records: 2, Checkpoints: 4, Concurrent: 1, TransactionVersion: 2, InOrder: true}
	one = Config{Processes: 1, Records: 2, Checkpoints: 4, Concurrent: 1, TransactionVersion: 2, InOrder: true, Crashes: 1, Network: 1, Timeouts: 1}
)

// with returns a search that looks for violations of one property, changed in a few places.
func (c Config) with(only Property, change func(*Config)) Config {
	c.Only = only
	if change != nil {
		change(&c)
	}
	return c
}

var plantedFaults = []planted{
	{SlotPerProcess, two.with(Output, func(c *Config) { c.Network, c.Checkpoints = 1, 5 }), "it will come again"},
	{TwoPoolSizes, two.with(Output, nil), "it will come again"},
	{IntoTransaction, one.with(Output, nil), "it will come again"},
	{IDsGoBack, two.with(Output, func(c *Config) { c.From = 1 }), "lost"},
	{IDLeftOut, two.with(Output, nil), "it will come again"},
	{OutOfOrderCommit, one.with(Output, func(c *Config) { c.Concurrent = 2 }), "lost"},
	{OutOfOrderSend, one.with(Output, func(c *Config) { c.Concurrent = 2 }), "before those of the one before"},
	{PointerBeforeFencing, two.with(Output, nil), "begins as if for the first time"},
	{NotEverySlotFenced, two.with(Output, nil), "a second time"},
	{NoStableWait, one.with(Refusal, func(c *Config) { c.Strangers = 1 }), "refused"},
	{CommitRetried, one.with(Output, func(c *Config) { c.TransactionVersion, c.Records, c.Checkpoints = 1, 4, 6 }), "without its pointer"},
	{QuietNewEpoch, two.with(Output, nil), "lost"},
	{LostAnswerIsSuccess, one.with(Output, nil), ""},
	{FencesBack, two.with(Stops, nil), "takes the job back"},
	{FencedStops, one.with(Stops, nil), "and none does"},
	{StopsForOlder, two.with(Stops, nil), "and none does"},
	{SkipAfterBarrier, one.with(Output, func(c *Config) { c.Concurrent = 2 }), "lost"},
	{NoFirstCheckpoint, one.with(Once, func(c *Config) { c.Latest = true }), "resolved a second time"},
	{RepeatsFrom, one.with(Once, func(c *Config) { c.From = 1 }), "a second time"},
	{NoGroup, one.with(Output, func(c *Config) { c.Losses = 1 }), "begins as if for the first time"},
	{GroupReadLast, two.with(Refusal, nil), "refused"},
	{LooksOnce, one.with(Output, func(c *Config) { c.Stale, c.Timeouts, c.Network = 2, 0, 0 }), "begins as if for the first time"},
	{PointerOutside, one.with(Output, nil), "lost"},
}

func TestEachDepartureIsFound(t *testing.T) {
	tried := map[Departure]bool{}
	for _, p := range plantedFaults {
		tried[p.departure] = true
		c := p.Config
		if !everyNight {
			// The protocol itself is looked at in TestTheProtocolHoldsWithinTheBounds.
		} else if r := Explore(c, 0); r.Violation != 0 || !r.Complete {
			t.Errorf("%s: the protocol itself does not hold within these bounds: %s: %s\n%s", p.departure, r.Violation, r.Text, strings.Join(r.Trace, "\n"))
		}
		c.Departure = p.departure
		r := Explore(c, 0)
		if r.Violation != c.Only || !strings.Contains(r.Text, p.text) || len(r.Trace) == 0 {
			t.Errorf("%s: %d states, found: %s: %q; want %s: %q", p.departure, r.States, r.Violation, r.Text, c.Only, p.text)
			continue
		}
		t.Logf("%s: %d states: %s\n  %s", p.departure, r.States, r.Text, strings.Join(r.Trace, "\n  "))
	}
	for d := Faithful + 1; d < departures; d++ {
		if !tried[d] {
			t.Errorf("%s is not planted", d)
		}
	}
}

func TestAFoundTraceLeadsToTheViolation(t *testing.T) {
	// The trace is told with the processes in their places, by going the way again; a move that is not found is missing in it.
	c := two.with(Output, nil)
	c.Departure = TwoPoolSizes
	r := Explore(c, 0)
	if got := r.Trace[len(r.Trace)-1]; got != "B commits checkpoint 2 in slot 2" {
		t.Errorf("the last line is %q", got)
	}
}
