package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/goccy/go-yaml"
)

// TestResolve runs the transcripts of testdata/resolve: "job", "last" and "savepoint" take YAML and say what there is;
// "start" says what is asked for and prints the decision.
func TestResolve(t *testing.T) {
	datadriven.Walk(t, "testdata/resolve", func(t *testing.T, path string) {
		var s Start
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "job":
				s = Start{Topic: "weir.clicks.checkpoints", GroupID: "clicks", NewLineage: "new-lineage", LastOffset: 777, Now: 1_700_000_000_000}
				s.Job = Description{Shards: 1, KeyGroups: 128}
				parse(t, d.Input, &s.Job)
				return ""
			case "last":
				s.Last = parsePointer(t, d)
				s.Damage = nil
				if d.HasArg("damaged") {
					s.Damage = errors.New("checkpoint is damaged")
				}
				return ""
			case "savepoint":
				s.Savepoint = parsePointer(t, d)
				return ""
			case "start":
				s.Request, s.Group = Request{}, 0
				d.MaybeScanArgs(t, "group", &s.Group)
				d.MaybeScanArgs(t, "again", &s.Request.Again)
				if d.HasArg("fresh") {
					s.Request.Kind = RequestFresh
					if arg, _ := d.Arg("fresh"); len(arg.Vals) > 0 {
						s.Request.ID = arg.Vals[0]
					}
				}
				if d.HasArg("from") {
					s.Request.Kind = RequestFrom
					d.ScanArgs(t, "from", &s.Request.ID)
				}
				if d.HasArg("offsets-from") {
					s.Request.Kind = RequestOffsets
					d.ScanArgs(t, "offsets-from", &s.Request.ID)
				}
				if arg, ok := d.Arg("drop"); ok {
					s.Request.Drop = arg.Vals
				}
				if arg, ok := d.Arg("on-incompatible"); ok {
					var err error
					if s.Request.Incompatible, err = ParseIncompatible(strings.Join(arg.Vals, ",")); err != nil {
						return err.Error() + "\n"
					}
				}
				r := Resolve(s)
				out := resolution(r)
				if d.HasArg("left") {
					if r.Leaves != nil {
						out += fmt.Sprintf("keep: checkpoint %d\n", r.Leaves.Checkpoint)
					}
					if r.Left != nil {
						out += fmt.Sprintf("kept: checkpoint %d\n", r.Left.Checkpoint)
					}
				}
				return out
			}
			d.Fatalf(t, "unknown command %s", d.Cmd)
			return ""
		})
	})
}

func parsePointer(t *testing.T, d *datadriven.TestData) *Pointer {
	if strings.TrimSpace(d.Input) == "none" {
		return nil
	}
	p := &Pointer{Job: "clicks", Shards: 1, KeyGroups: 128, Host: "a", Time: 1_700_000_000_000 - 3*60_000}
	parse(t, d.Input, p)
	return p
}

func parse(t *testing.T, text string, into any) {
	t.Helper()
	b, err := yaml.YAMLToJSON([]byte(text))
	if err == nil {
		err = json.Unmarshal(b, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func resolution(r Resolution) string {
	var b strings.Builder
	if r.Kind == ResolvedRefuse {
		return fmt.Sprintf("refuse: %v\n", r.Err)
	}
	b.WriteString([]string{"first start", "continue", "new lineage from savepoint", "new lineage, empty", "new lineage, offsets only", "ended"}[r.Kind])
	if r.Kind != ResolvedEnded {
		fmt.Fprintf(&b, ": next checkpoint %d, lineage %s, request %s", r.Last+1, r.Lineage, r.Request)
	}
	if r.Pointer != nil {
		fmt.Fprintf(&b, ", state of checkpoint %d", r.Pointer.Checkpoint)
	}
	b.WriteString("\n")
	if p := r.Pointer; p != nil && len(p.Dropped) > 0 {
		fmt.Fprintf(&b, "numbers dropped: %v; left: %s\n", p.Dropped, whatThereIs(p))
	}
	if r.Kind == ResolvedOffsets {
		for _, s := range r.Pointer.Sources[0].Splits {
			fmt.Fprintf(&b, "%s/%d at %d, to %d, done %v, event time %v\n", s.Topic, s.Partition, s.Offset, s.Stop, s.Done, s.MaxTimestamps)
		}
	}
	if len(r.Drops) > 0 {
		fmt.Fprintf(&b, "recorded: %s\n", strings.Join(r.Drops, ", "))
	}
	for _, what := range r.Dropped {
		fmt.Fprintf(&b, "log: %s\n", what)
	}
	for _, u := range r.Unfinished {
		fmt.Fprintf(&b, "finish savepoint %s (checkpoint %d, offset %d)\n", u.Directory, u.Checkpoint, u.Offset)
	}
	if r.Note != "" {
		fmt.Fprintf(&b, "note: %s\n", r.Note)
	}
	return b.String()
}
