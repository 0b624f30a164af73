package checkpoint

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/weirstream/weir/stream"
)

// TestRewrite runs the transcripts of testdata/rewrite: "savepoint" takes the pointer in YAML; "rewrite" takes edits, one a line
// as [Edits.List] has them, "log SPLIT=START-END" and "force", and prints what the new savepoint does differently and what of the
// pointer is not as it was, or every mistake.
func TestRewrite(t *testing.T) {
	datadriven.Walk(t, "testdata/rewrite", func(t *testing.T, path string) {
		var p *Pointer
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "savepoint":
				p = parsePointer(t, d)
				for i := range p.Operators {
					if p.Operators[i].Watermark == 0 {
						p.Operators[i].Watermark = stream.MinTime
					}
				}
				return ""
			case "rewrite":
				before := describePointer(p)
				out, effects, err := Rewrite(p, parseEdits(t, d.Input))
				if after := describePointer(p); !reflect.DeepEqual(after, before) {
					t.Errorf("%s: the original was changed:\n%v\n%v", d.Pos, before, after)
				}
				if err != nil {
					return "mistakes:\n" + err.Error() + "\n"
				}
				if SavepointID(out) == SavepointID(p) {
					t.Errorf("%s: the new savepoint has the old one's ID", d.Pos)
				}
				var b strings.Builder
				for _, e := range effects {
					fmt.Fprintf(&b, "%s\n", e.Text)
				}
				after := describePointer(out)
				for i, line := range before {
					if i >= len(after) || after[i] != line {
						fmt.Fprintf(&b, "- %s\n", line)
					}
				}
				for i, line := range after {
					if i >= len(before) || before[i] != line {
						fmt.Fprintf(&b, "+ %s\n", line)
					}
				}
				return b.String()
			}
			d.Fatalf(t, "unknown command %s", d.Cmd)
			return ""
		})
	})
}

// describePointer is what a rewriting may change, a line each.
func describePointer(p *Pointer) []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	for _, src := range p.Sources {
		for _, s := range src.Splits {
			add("split %s:%s/%d offset %d epoch %d stop %d done %v topic %d seen %v", src.Name, s.Topic, s.Partition, s.Offset, s.LeaderEpoch, s.Stop, s.Done, s.TopicID[15], s.MaxTimestamps)
		}
	}
	for _, o := range p.Operators {
		names := []string{}
		for _, s := range o.States {
			names = append(names, fmt.Sprintf("%s#%d", s.Name, s.ID))
		}
		if o.Keys != "" {
			add("keys of %s: %s", o.Name, o.Keys)
		}
		add("operator %s states %v watermark %s", o.Name, names, map[bool]string{true: "-", false: fmt.Sprint(o.Watermark)}[o.Watermark == stream.MinTime])
	}
	for _, t := range p.Topics {
		add("topic %s of %s %s: %d", t.Name, t.Role, t.Step, t.ID[15])
	}
	add("dropped %v final %v", p.Dropped, p.Final)
	return out
}

func parseEdits(t *testing.T, text string) Edits {
	t.Helper()
	e := Edits{SetOffset: map[SplitKey]int64{}, Log: map[SplitKey]LogRange{}, TopicIDs: map[string]TopicID{}, Rename: map[string]string{}}
	number := func(s string) int64 {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	key := func(s string) (k SplitKey) {
		if source, rest, ok := strings.Cut(s, ":"); ok {
			k.Source, s = source, rest
		}
		topic, partition, _ := strings.Cut(s, "/")
		k.Topic, k.Partition = topic, int32(number(partition))
		return k
	}
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		verb, rest, _ := strings.Cut(line, " ")
		name, value, _ := strings.Cut(rest, "=")
		switch verb {
		case "set-offset":
			e.SetOffset[key(name)] = number(value)
		case "log":
			start, end, _ := strings.Cut(value, "-")
			e.Log[key(name)] = LogRange{number(start), number(end)}
		case "topic-id":
			var id TopicID
			id[15] = byte(number(value))
			e.TopicIDs[name] = id
		case "drop-state":
			e.DropState = append(e.DropState, name)
		case "rename":
			e.Rename[name] = value
		case "accept-keys":
			e.AcceptKeys = append(e.AcceptKeys, rest)
		case "reset-watermarks":
			e.ResetWatermarks = true
		case "force":
			e.Force = true
		case "":
		default:
			t.Fatalf("unknown edit %q", line)
		}
	}
	return e
}

// C17: a job remembers the ID that it began from. The same edits make the same savepoint, so that a rewriting can be repeated;
// any other edit, and any other original, makes another one.
func TestARewrittenSavepointHasAnIDOfItsOwn(t *testing.T) {
	p := examplePointer()
	p.Operators = append(p.Operators, Operator{Name: "other", States: []State{{ID: 99, Name: "x"}, {ID: 98, Name: "y"}}})
	seen := map[string]string{SavepointID(p): "the original"}
	id := func(p *Pointer, e Edits) string {
		out, _, err := Rewrite(p, e)
		if err != nil {
			t.Fatal(err)
		}
		if out.Checkpoint != p.Checkpoint || out.Request != "from:"+SavepointID(p) {
			t.Errorf("checkpoint %d, request %s", out.Checkpoint, out.Request)
		}
		return SavepointID(out)
	}
	for what, e := range map[string]Edits{
		"drop x":       {DropState: []string{"other/x"}},
		"drop y":       {DropState: []string{"other/y"}},
		"drop both":    {DropState: []string{"other/x", "other/y"}},
		"drop all":     {DropState: []string{"other"}},
		"rename":       {Rename: map[string]string{"other": "another"}},
		"reset":        {ResetWatermarks: true},
		"rename twice": {Rename: map[string]string{"other": "a"}, ResetWatermarks: true},
	} {
		got := id(p, e)
		if seen[got] != "" {
			t.Errorf("%s has the ID of %s", what, seen[got])
		}
		seen[got] = what
		if again := id(p, e); again != got {
			t.Errorf("%s: %s and then %s", what, got, again)
		}
		next := *p
		next.Checkpoint++
		if SavepointID(&next) == got || id(&next, e)[:36] == got[:36] {
			t.Errorf("%s: the same lineage as of another original", what)
		}
	}
	if id(p, Edits{DropState: []string{"other/x", "other/y"}}) != id(p, Edits{DropState: []string{"other/y", "other/x", "other/y"}}) {
		t.Error("the order of edits makes another savepoint")
	}
}
