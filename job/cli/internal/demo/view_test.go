package demo

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestPictureFitsATerminal(t *testing.T) {
	var all []time.Duration
	for range 20 {
		all = append(all, 12345*time.Millisecond)
	}
	for _, n := range []numbers{
		{},
		{fed: 150_000, events: 300_000, out: 149_000, checkpoint: 1234567, took: 12345.6, doing: "waiting", recoveries: all},
		{fed: 300_000, events: 300_000, out: 300_000, checkpoint: 9, took: 0.4, doing: "running", down: time.Now().Add(-time.Hour)},
	} {
		text := picture(&n, "127.0.0.1:54321")
		if got := strings.Count(text, "\n"); got != 6 {
			t.Errorf("%d lines:\n%s", got, text)
		}
		for _, line := range strings.Split(text, "\n") {
			if w := utf8.RuneCountInString(line); w > 79 {
				t.Errorf("%d columns: %s", w, line)
			}
		}
	}
}

func TestThousands(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 123456: "123,456", 1234567: "1,234,567", -1000: "-1,000", -100: "-100"} {
		if got := thousands(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

func TestAPlainLineSaysItAll(t *testing.T) {
	got := line(&numbers{fed: 150_000, events: 300_000, out: 149_000, checkpoint: 12, took: 3.25, recoveries: make([]time.Duration, 2)})
	if want := "records in 150,000 of 300,000, results out 149,000, checkpoint 12 (3.2 ms), restarts 2"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
