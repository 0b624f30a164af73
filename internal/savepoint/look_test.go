package savepoint

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/fxamacker/cbor/v2"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/pebblestate"
	"github.com/weirstream/weir/stream"
)

// Commands: savepoint, show, keys, diff. See testdata/look.
func TestLookingInside(t *testing.T) {
	datadriven.Walk(t, "testdata/look", func(t *testing.T, path string) {
		l := &looking{t: t, dir: t.TempDir(), scratch: t.TempDir()}
		datadriven.RunTest(t, path, l.run)
		left, err := os.ReadDir(l.scratch)
		if err != nil || len(left) > 0 {
			t.Errorf("left in the scratch directory: %v (%v)", left, err)
		}
	})
}

type looking struct {
	t            *testing.T
	dir, scratch string
}

func (l *looking) run(t *testing.T, d *datadriven.TestData) string {
	var out strings.Builder
	if err := l.command(d, &out); err != nil {
		fmt.Fprintf(&out, "error: %v\n", err)
	}
	return strings.ReplaceAll(out.String(), l.dir+string(filepath.Separator), "")
}

func (l *looking) open(name string) *Savepoint {
	s, err := Open(l.t.Context(), filepath.Join(l.dir, name))
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { _ = s.Close() })
	return s
}

func (l *looking) command(d *datadriven.TestData, out *strings.Builder) error {
	ctx := l.t.Context()
	switch d.Cmd {
	case "savepoint":
		makeSavepoint(l.t, filepath.Join(l.dir, d.CmdArgs[0].Key), d.Input)
	case "show":
		r, err := Inspect(ctx, l.open(d.CmdArgs[0].Key), l.scratch)
		if err != nil {
			return err
		}
		for _, o := range r.Operators {
			fmt.Fprintf(out, "%s: %s, watermark %s\n", o.Name, o.Kind, checkpoint.TimeText(o.Watermark))
			for _, s := range o.States {
				fmt.Fprintf(out, "  %s: %s of %s: %d entries, %d keys in %d groups, %d bytes\n", s.Name, s.Kind, s.Type, s.Entries, s.Keys, s.KeyGroups, s.Bytes)
				for _, k := range s.Largest {
					fmt.Fprintf(out, "    %s: %d entries, %d bytes\n", k.Key, k.Entries, k.Bytes)
				}
			}
		}
	case "keys":
		var key *Key
		limit := 100
		for _, a := range d.CmdArgs[2:] {
			switch a.Key {
			case "key":
				k, err := ParseKey(strings.Join(a.Vals, ","))
				if err != nil {
					return err
				}
				key = &k
			case "limit":
				a.Scan(l.t, 0, &limit)
			}
		}
		found, err := Keys(ctx, l.open(d.CmdArgs[0].Key), l.scratch, d.CmdArgs[1].Key, key, limit)
		if err != nil {
			return err
		}
		for _, e := range found.Entries {
			fmt.Fprintf(out, "%s", e.Key)
			if e.Namespace != "" {
				fmt.Fprintf(out, " [%s]", e.Namespace)
			}
			fmt.Fprintf(out, ": %s\n", e.Value)
		}
		if found.More {
			fmt.Fprintln(out, "...")
		}
	case "diff":
		diff, err := Diff(ctx, l.open(d.CmdArgs[0].Key), l.open(d.CmdArgs[1].Key), l.scratch)
		if err != nil {
			return err
		}
		printDiff(out, diff)
	default:
		return fmt.Errorf("no command %q", d.Cmd)
	}
	return nil
}

func printDiff(out *strings.Builder, d *Difference) {
	for _, n := range d.Notes {
		fmt.Fprintln(out, "note: "+n)
	}
	text := func(n *int64) string {
		if n == nil {
			return "-"
		}
		return strconv.FormatInt(*n, 10)
	}
	for _, s := range d.Splits {
		fmt.Fprintf(out, "%s: %s/%d: %s, %s to %s, %d records", s.Source, s.Topic, s.Partition, s.Change, text(s.Was), text(s.Is), s.Records)
		if s.OtherTopic {
			out.WriteString(", another topic")
		}
		out.WriteByte('\n')
	}
	for _, o := range d.Operators {
		fmt.Fprintf(out, "%s: %s, watermark %s to %s\n", o.Name, o.Change, text(o.WatermarkWas), text(o.WatermarkIs))
		for _, s := range o.States {
			fmt.Fprintf(out, "  %s: %s, %d to %d entries: %d added, %d removed, %d changed", s.Name, s.Change, s.EntriesWas, s.EntriesIs, s.Added, s.Removed, s.Changed)
			if s.Counted {
				out.WriteString(" (only counted)")
			}
			if s.Declared != "" {
				out.WriteString("; was " + s.Declared)
			}
			out.WriteByte('\n')
			for _, e := range s.Samples {
				fmt.Fprintf(out, "    %s %s [%s]: %q to %q\n", e.Change, e.Key, e.Namespace, e.Was, e.Is)
			}
		}
	}
}

// makeSavepoint writes the savepoint that a text describes, one thing a line:
//
//	lineage NAME | checkpoint ID | groups N
//	split SOURCE TOPIC PARTITION OFFSET [TOPICID]
//	operator NAME KIND WATERMARK
//	state ID NAME KIND TYPE         of the operator before; _ stands for a space
//	schema TEXT                     of the state before
//	dropped ID
//	put ID KEY NAMESPACE VALUE      both: hex digits, - for none, int:5, text:abc, bool:true, time:1970-01-01T00:00:00Z; several
//	                                with + between; of cbor but for time (as in namespaces), n:5 (the same of a number) and raw:5
//	delete ID KEY NAMESPACE
//	base                            what stands before it goes into a base
//	delta                           into a delta of its own
func makeSavepoint(t testing.TB, dir, text string) {
	t.Helper()
	store, err := checkpoint.OpenStore(t.Context(), dir)
	must(t, err)
	defer store.Close()
	writeSavepoint(t, store, text)
}

func writeSavepoint(t testing.TB, store checkpoint.Store, text string) {
	t.Helper()
	p := &checkpoint.Pointer{Job: "sums", Shards: 1, Checkpoint: 1, Attempt: "a", Lineage: "l", Request: "start", KeyGroups: stream.DefaultKeyGroups, Time: 1_000}
	files := checkpoint.NewFiles(store, nil)
	b, err := pebblestate.Open(t.Context(), pebblestate.Options{Dir: filepath.Join(t.TempDir(), "state")}, pebblestate.Restore{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	w, changes, at := b.NewDelta(), 0, int64(1)
	flush := func() {
		if changes > 0 {
			must(t, b.AddDelta(at, w))
			at++
			w, changes = b.NewDelta(), 0
		}
	}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		switch f[0] {
		case "job":
			p.Job = f[1]
		case "lineage":
			p.Lineage = f[1]
		case "began": // with what its lineage began
			p.Request = f[1]
		case "checkpoint":
			p.Checkpoint = integer(t, f[1])
		case "groups":
			p.KeyGroups = int(integer(t, f[1]))
		case "split":
			s := checkpoint.Split{Topic: f[2], Partition: int32(integer(t, f[3])), Offset: integer(t, f[4]), LeaderEpoch: -1, Stop: -1}
			if len(f) > 5 {
				s.TopicID[0] = byte(integer(t, f[5]))
			}
			if n := len(p.Sources); n == 0 || p.Sources[n-1].Name != f[1] {
				p.Sources = append(p.Sources, checkpoint.Source{Name: f[1]})
			}
			last := &p.Sources[len(p.Sources)-1]
			last.Splits = append(last.Splits, s)
		case "operator":
			p.Operators = append(p.Operators, checkpoint.Operator{Name: f[1], Kind: f[2], Watermark: integer(t, f[3])})
		case "state":
			last := &p.Operators[len(p.Operators)-1]
			last.States = append(last.States, checkpoint.State{ID: uint16(integer(t, f[1])), Name: space(f[2]), Kind: f[3], Type: space(f[4]), Version: 1})
		case "schema":
			states := p.Operators[len(p.Operators)-1].States
			states[len(states)-1].Schema = strings.TrimSpace(strings.TrimPrefix(line, "schema"))
		case "dropped":
			p.Dropped = append(p.Dropped, uint16(integer(t, f[1])))
		case "put", "delete":
			key, err := ParseKey(f[2])
			must(t, err)
			group := stream.KeyGroupOf([]byte(key), p.KeyGroups)
			if f[0] == "delete" {
				err = w.Delete(group, uint16(integer(t, f[1])), string(key), encoded(t, f[3]))
			} else {
				err = w.Put(group, uint16(integer(t, f[1])), string(key), encoded(t, f[3]), encoded(t, f[4]))
			}
			must(t, err)
			changes++
		case "delta":
			flush()
		case "base":
			flush()
			base, err := b.WriteBase(t.Context(), at-1)
			must(t, err)
			p.Base = &checkpoint.Base{Checkpoint: p.Checkpoint}
			for _, f := range base.Files {
				up, err := files.UploadFile(t.Context(), func(h checkpoint.Hash) string { return h.String() + ".base" }, f.Path)
				must(t, err)
				up.Local = f.Name
				p.Base.Files = append(p.Base.Files, up)
			}
		default:
			t.Fatalf("what is %q?", line)
		}
	}
	flush()
	for _, d := range b.Deltas() {
		up, err := files.UploadBytes(t.Context(), func(h checkpoint.Hash) string { return h.String() + ".delta" }, d.Repr)
		must(t, err)
		p.Deltas = append(p.Deltas, checkpoint.Delta{First: d.First, Checkpoint: d.Checkpoint, Size: up.Size, Hash: up.Hash, File: &up, Offset: -1})
	}
	m, err := checkpoint.NewManifest(p)
	must(t, err)
	must(t, checkpoint.WriteManifest(t.Context(), files, m))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func integer(t testing.TB, s string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(s, 10, 64)
	must(t, err)
	return n
}

func space(s string) string { return strings.ReplaceAll(s, "_", " ") }

func encoded(t testing.TB, s string) []byte {
	t.Helper()
	if s == "-" {
		return nil
	}
	var out []byte
	for part := range strings.SplitSeq(s, "+") {
		kind, text, ok := strings.Cut(part, ":")
		if !ok {
			kind, text = "", part
		}
		var v any
		switch kind {
		case "":
			b, err := hex.DecodeString(text)
			must(t, err)
			out = append(out, b...)
			continue
		case "time":
			at, err := time.Parse(time.RFC3339, text)
			must(t, err)
			out = binary.BigEndian.AppendUint64(out, uint64(at.UnixMilli())^1<<63)
			continue
		case "n":
			out = binary.BigEndian.AppendUint64(out, uint64(integer(t, text))^1<<63)
			continue
		case "raw":
			out = binary.BigEndian.AppendUint64(out, uint64(integer(t, text)))
			continue
		case "int":
			v = integer(t, text)
		case "text":
			v = text
		case "bool":
			v = text == "true"
		default:
			t.Fatalf("what is %q?", s)
		}
		b, err := cbor.Marshal(v)
		must(t, err)
		out = append(out, b...)
	}
	return out
}

// A file that is damaged or gone is named, whatever looks at it, and nothing stays behind.
func TestADamagedFileIsNamed(t *testing.T) {
	const text = "operator sum aggregate 5\nstate 0 sum value cbor:int64\nput 0 a - int:1\nbase\nput 0 b - int:2\ndelta"
	whole := filepath.Join(t.TempDir(), "whole")
	makeSavepoint(t, whole, text)
	s, err := Open(t.Context(), whole)
	must(t, err)
	defer s.Close()
	for i, f := range s.Pointer().AllFiles() {
		for _, gone := range []bool{false, true} {
			dir, scratch := filepath.Join(t.TempDir(), strconv.Itoa(i)), t.TempDir()
			must(t, os.CopyFS(dir, os.DirFS(whole)))
			path := filepath.Join(dir, f.Name)
			if gone {
				must(t, os.Remove(path))
			} else {
				content, err := os.ReadFile(path)
				must(t, err)
				if len(content) == 0 {
					content = []byte{1}
				} else {
					content[len(content)/2] ^= 1
				}
				must(t, os.WriteFile(path, content, 0o644))
			}
			bad, err := Open(t.Context(), dir)
			must(t, err)
			defer bad.Close()
			_, shown := Inspect(t.Context(), bad, scratch)
			_, listed := Keys(t.Context(), bad, scratch, "sum", nil, 1)
			_, compared := Diff(t.Context(), s, bad, scratch)
			for _, err := range []error{shown, listed, compared} {
				if err == nil || !strings.Contains(err.Error(), f.Name) || !strings.Contains(err.Error(), dir) || !checkpoint.IsDamage(err) {
					t.Errorf("file %s (%s), gone %v: %v", f.Name, f.Local, gone, err)
				}
			}
			if left, err := os.ReadDir(scratch); err != nil || len(left) > 0 {
				t.Errorf("left in the scratch directory: %v (%v)", left, err)
			}
		}
	}
}

func TestKeysAreReadAsTheyAreShown(t *testing.T) {
	plain := regexp.MustCompile(`^[a-z0-9[\],"' ]*$`)
	for _, k := range []Key{"", "a", "grüße", " a", "a ", `"`, `"a"`, `a"b`, `["AA",17]`, "a b", "a\nb", "\xff", "\x00", "a\u200bb"} {
		got, err := ParseKey(k.String())
		if err != nil || got != k {
			t.Errorf("%q is shown as %s and read as %q (%v)", string(k), k, string(got), err)
		}
		if text := k.String(); plain.MatchString(string(k)) && k != "" && k[0] != '"' && strings.TrimSpace(string(k)) == string(k) && text != string(k) {
			t.Errorf("%q is shown as %s", string(k), text)
		}
	}
	if _, err := ParseKey(`"a`); err == nil {
		t.Error("half a pair of quotes is taken")
	}
}

func TestNoStateIsAnErrorThatListsThem(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "s")
	makeSavepoint(t, dir, "operator sum aggregate 5\nstate 0 sum value cbor:int64\noperator w window 5\nstate 1 panes window x\nstate 2 timers timers timer")
	s, err := Open(t.Context(), dir)
	must(t, err)
	defer s.Close()
	for _, name := range []string{"w", "x", "w/", "sum/x"} {
		_, err = Keys(t.Context(), s, t.TempDir(), name, nil, 1)
		var unknown *NoStateError
		if !errors.As(err, &unknown) || !strings.Contains(err.Error(), "it has sum/sum, w/panes, w/timers") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
