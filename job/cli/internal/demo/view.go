package demo

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

const (
	frames = 10          // a second, on a terminal
	report = time.Second // between plain lines
)

// view shows the state until the context ends, and once more then.
func view(ctx context.Context, out io.Writer, live bool, s *state, broker string) {
	every := report
	if live {
		every = time.Second / frames
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	drawn := 0
	for {
		last := false
		select {
		case <-tick.C:
		case <-ctx.Done():
			last = true
		}
		c := s.take()
		if live {
			var b strings.Builder
			if drawn > 0 {
				fmt.Fprintf(&b, "\x1b[%dA\x1b[J", drawn)
			}
			text := picture(&c, broker)
			drawn = strings.Count(text, "\n")
			b.WriteString(text)
			io.WriteString(out, b.String())
		} else {
			for _, n := range c.notes {
				fmt.Fprintln(out, n)
			}
			fmt.Fprintln(out, line(&c))
		}
		if last {
			return
		}
	}
}

// picture is the state as a terminal shows it; no line is wider than 80 columns.
func picture(s *numbers, broker string) string {
	const width = 40
	done := 0
	if s.events > 0 {
		done = int(width * s.fed / s.events)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "  broker          in memory, at %s\n", broker)
	fmt.Fprintf(&b, "  records in      %-11s %s%s %d%%\n", thousands(s.fed), strings.Repeat("\u2588", done), strings.Repeat("\u2591", width-done), 100*s.fed/max(1, s.events))
	fmt.Fprintf(&b, "  results out     %s\n", thousands(s.out))
	fmt.Fprintf(&b, "  checkpoints     %s, the latest in %s\n", thousands(s.checkpoint), millis(s.took))
	fmt.Fprintf(&b, "  restarts        %d%s\n", len(s.recoveries), recoveries(s.recoveries))
	if s.down.IsZero() {
		fmt.Fprintf(&b, "  job             %s\n", s.doing)
	} else {
		fmt.Fprintf(&b, "  job             killed %s ago, recovering\n", time.Since(s.down).Round(10*time.Millisecond))
	}
	return b.String()
}

// line is the state as plain text.
func line(s *numbers) string {
	return fmt.Sprintf("records in %s of %s, results out %s, checkpoint %d (%s), restarts %d",
		thousands(s.fed), thousands(s.events), thousands(s.out), s.checkpoint, millis(s.took), len(s.recoveries))
}

func recoveries(all []time.Duration) string {
	if len(all) == 0 {
		return ""
	}
	const shown = 5
	first := max(0, len(all)-shown)
	var parts []string
	for _, d := range all[first:] {
		parts = append(parts, strconv.FormatInt(d.Milliseconds(), 10))
	}
	dots := ""
	if first > 0 {
		dots = "... "
	}
	return fmt.Sprintf(": back after %s%s ms", dots, strings.Join(parts, ", "))
}

func millis(ms float64) string {
	if ms == 0 {
		return "-"
	}
	return strconv.FormatFloat(ms, 'f', 1, 64) + " ms"
}

// thousands is a number as people read it: 1,234,567.
func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
