package model

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestTraces runs the transcripts of testdata/traces: "explore" names a departure and prints what goes wrong, the
// shortest way first.
func TestTraces(t *testing.T) {
	datadriven.Walk(t, "testdata/traces", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var name string
			d.ScanArgs(t, "departure", &name)
			for _, p := range plantedFaults {
				if strings.ReplaceAll(p.departure.String(), " ", "-") != name {
					continue
				}
				c := p.Config
				c.Departure = p.departure
				r := Explore(c, 0)
				return fmt.Sprintf("%s\n%s: %s\n", strings.Join(r.Trace, "\n"), r.Violation, r.Text)
			}
			d.Fatalf(t, "no departure %q", name)
			return ""
		})
	})
}
