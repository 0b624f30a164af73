package harness

import (
	"math/rand/v2"
	"testing"
	"time"
)

// Killer ends a program again and again with SIGKILL at random moments of its life, and starts it again at once.
type Killer struct {
	Rand *rand.Rand
	// Kills is how many there are.
	Kills int
	// Least and Most bound the time from a start to its kill.
	Least, Most time.Duration
	// Ready, if set, reports that the program has begun its work. Every second kill of Run waits for it, and then for half the
	// time at most: on a slow machine too, half of the kills hit a program at work.
	Ready func() bool
}

// Run does the kills and returns one more start of the program, which it leaves running. A program that ends by itself
// before it is killed fails the test.
func (k Killer) Run(t testing.TB, program Program) *Process {
	t.Helper()
	for i := range k.Kills {
		p := program.Start(t)
		after := k.Least + time.Duration(k.Rand.Int64N(int64(k.Most-k.Least)))
		if k.Ready != nil && i%2 == 1 {
			Until(t, time.Minute, "a program at work", func() (bool, string) { return k.Ready() || !p.Running(), p.Output() })
			after /= 2
		}
		For(t, after)
		if !p.Running() {
			t.Fatalf("start %d ended by itself with exit code %d:\n%s", i+1, p.Exit(0), tail(p.Output(), 30))
		}
		p.Kill()
	}
	return program.Start(t)
}

// Finish does the kills to a program that ends by itself, and waits until a start of it has ended with exit code 0. It
// returns how many kills there were: fewer if the program was quicker.
func (k Killer) Finish(t testing.TB, program Program, within time.Duration) int {
	t.Helper()
	for kills := range k.Kills {
		p := program.Start(t)
		For(t, k.Least+time.Duration(k.Rand.Int64N(int64(k.Most-k.Least))))
		if !p.Running() {
			if code := p.Exit(0); code != 0 {
				t.Fatalf("start %d ended with exit code %d:\n%s", kills+1, code, tail(p.Output(), 30))
			}
			return kills
		}
		p.Kill()
	}
	if p := program.Start(t); p.Exit(within) != 0 {
		t.Fatalf("the last start ended with exit code %d:\n%s", p.Exit(0), tail(p.Output(), 30))
	}
	return k.Kills
}
