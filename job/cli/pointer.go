package cli

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/stream"
)

// printPointer shows a checkpoint to a person. Next is the pointer that follows in the topic, nil for none.
func (p *program) printPointer(ptr, next *checkpoint.Pointer) {
	fmt.Fprintf(p.stdout, "checkpoint %d of job %s, %s\n", ptr.Checkpoint, ptr.Job, checkpoint.TimeText(ptr.Time))
	fmt.Fprintf(p.stdout, "attempt %s on host %s\nlineage %s, began with %s\n", ptr.Attempt, ptr.Host, ptr.Lineage, ptr.Request)
	fmt.Fprintf(p.stdout, "shard %d of %d, %d key groups, state %s", ptr.Shard, ptr.Shards, ptr.KeyGroups, stateSize(ptr))
	if n := note(ptr, next); n != "" {
		fmt.Fprintf(p.stdout, " (%s)", n)
	}
	fmt.Fprint(p.stdout, "\n\n")

	t := plainTable(p.stdout)
	t.AppendHeader(table.Row{"source", "topic", "partition", "next offset", "ends before"})
	for _, src := range ptr.Sources {
		for _, s := range src.Splits {
			stop := "-"
			if s.Stop >= 0 {
				stop = fmt.Sprint(s.Stop)
			}
			t.AppendRow(table.Row{src.Name, s.Topic, s.Partition, s.Offset, stop})
		}
	}
	t.Render()
	fmt.Fprintln(p.stdout)

	t = plainTable(p.stdout)
	t.AppendHeader(table.Row{"operator", "kind", "watermark", "states"})
	for _, o := range ptr.Operators {
		var states []string
		for _, s := range o.States {
			states = append(states, fmt.Sprintf("%s (%s of %s)", s.Name, s.Kind, s.Type))
		}
		t.AppendRow(table.Row{o.Name, o.Kind, watermark(o.Watermark), strings.Join(states, ", ")})
	}
	t.Render()

	if files := ptr.AllFiles(); len(files) > 0 {
		fmt.Fprintln(p.stdout)
		t = plainTable(p.stdout)
		t.AppendHeader(table.Row{"file", "size"})
		for _, f := range files {
			t.AppendRow(table.Row{f.Name, humanize.IBytes(uint64(f.Size))})
		}
		t.Render()
	}
}

// stateSize is the size of a checkpoint's state as far as its pointer lists it.
func stateSize(ptr *checkpoint.Pointer) string {
	if ptr.File != nil && ptr.Sources == nil {
		return "in a file"
	}
	return humanize.IBytes(uint64(ptr.StateBytes()))
}

// note says what is special about a checkpoint. What was to follow on it, its pointer cannot know: the next one tells.
func note(ptr, next *checkpoint.Pointer) string {
	var notes []string
	wentOn := next != nil && next.Attempt == ptr.Attempt
	if ptr.First {
		notes = append(notes, "first of its attempt")
	}
	switch {
	case ptr.Drained:
		notes = append(notes, "drained")
	case ptr.Final:
		notes = append(notes, "end of the input")
	case ptr.Last && wentOn && ptr.Savepoint != "":
		notes = append(notes, "asked to stop, and went on without savepoint "+ptr.Savepoint)
	case ptr.Last && (wentOn || ptr.Savepoint != ""):
		notes = append(notes, "asked to stop")
	case ptr.Last:
		notes = append(notes, "stopped")
	}
	if ptr.Savepoint != "" && !(ptr.Last && !ptr.Final && wentOn) {
		notes = append(notes, "for savepoint "+ptr.Savepoint)
	}
	return strings.Join(notes, ", ")
}

func watermark(ms int64) string {
	switch ms {
	case stream.MinTime:
		return "-"
	case stream.MaxTime:
		return "end of the input"
	}
	return checkpoint.TimeText(ms)
}

// shortRequest is what a lineage began with, its UUIDs by their first block: start, fresh, from:7f3c0a12-41.
func shortRequest(request string) string {
	return strings.TrimSuffix(uuids.ReplaceAllString(request, "$1"), ":")
}

var uuids = regexp.MustCompile(`\b([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`)

// short is the first block of a UUID, enough to tell attempts apart.
func short(uuid string) string {
	if len(uuid) > 8 {
		return uuid[:8]
	}
	return uuid
}
