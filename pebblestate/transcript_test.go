package pebblestate

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/weirstream/weir/stream"
)

// Commands: open, state, add, merge, base, restart, get, scan, deltas, states. See testdata/.
func TestTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		tr := &transcript{t: t, fs: vfs.NewMem(), files: storage{}}
		datadriven.RunTest(t, path, tr.run)
		if tr.b != nil {
			if err := tr.b.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

type transcript struct {
	t       *testing.T
	fs      vfs.FS
	files   storage
	b       *Backend
	restore Restore
	newest  int64
}

func (tr *transcript) run(t *testing.T, d *datadriven.TestData) string {
	var out strings.Builder
	if err := tr.command(d, &out); err != nil {
		fmt.Fprintf(&out, "error: %v\n", err)
	}
	return out.String()
}

func (tr *transcript) command(d *datadriven.TestData, out *strings.Builder) error {
	var key, op, name, kind, typ string
	var group, state, checkpoint int
	version := 1
	for _, a := range []struct {
		name string
		to   any
	}{{"key", &key}, {"operator", &op}, {"name", &name}, {"kind", &kind}, {"type", &typ}, {"group", &group}, {"state", &state}, {"checkpoint", &checkpoint}, {"version", &version}} {
		d.MaybeScanArgs(tr.t, a.name, a.to)
	}
	switch d.Cmd {
	case "open", "restart":
		if tr.b != nil {
			tr.restore.Checkpoint, tr.restore.Deltas, tr.restore.States = tr.newest, tr.b.Deltas(), tr.b.States()
			if err := tr.b.Close(); err != nil {
				return err
			}
		}
		b, err := Open(tr.t.Context(), Options{Dir: "d", FS: tr.fs}, tr.restore)
		if err != nil {
			return err
		}
		tr.b = b
	case "state":
		id, err := tr.b.StateID(op, StateDesc{Name: name, Kind: kind, Type: typ, Version: version})
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "state %d\n", id)
	case "states":
		for _, s := range tr.b.States() {
			fmt.Fprintf(out, "%d: operator %s: %s: %s of %s, version %d\n", s.ID, s.Operator, s.Name, s.Kind, s.Type, s.Version)
		}
	case "add":
		w := tr.b.NewDelta()
		for line := range strings.Lines(d.Input) {
			f := strings.Fields(line) // put|delete group key namespace value
			g, err := strconv.Atoi(f[1])
			if err != nil {
				return err
			}
			if f[0] == "delete" {
				err = w.Delete(stream.KeyGroup(g), uint16(state), f[2], []byte(f[3]))
			} else {
				err = w.Put(stream.KeyGroup(g), uint16(state), f[2], []byte(f[3]), []byte(f[4]))
			}
			if err != nil {
				return err
			}
		}
		tr.newest = int64(checkpoint)
		return tr.b.AddDelta(int64(checkpoint), w)
	case "merge":
		_, err := tr.b.MergeDeltas(0)
		return err
	case "base":
		base, err := tr.b.WriteBase(tr.t.Context(), int64(checkpoint))
		if err != nil {
			return err
		}
		tr.files.store(tr.t, tr.fs, base)
		tr.restore.Base, tr.restore.Fetch = base.Files, tr.files.fetch
		fmt.Fprintf(out, "base of checkpoint %d, applied %d, %d deltas left\n", base.Checkpoint, tr.b.Applied(), len(tr.b.Deltas()))
	case "deltas":
		for _, delta := range tr.b.Deltas() {
			fmt.Fprintf(out, "checkpoints %d to %d:\n", delta.First, delta.Checkpoint)
			r, err := readDelta(delta.Repr)
			for err == nil {
				c, _, ok, e := r.next()
				if err = e; !ok {
					break
				}
				if c.deleted {
					fmt.Fprintf(out, "  delete %x\n", c.key)
				} else {
					fmt.Fprintf(out, "  put    %x = %s\n", c.key, c.value)
				}
			}
			if err != nil {
				return err
			}
		}
	case "get":
		v, ok, err := tr.b.Get(stream.KeyGroup(group), uint16(state), key, []byte(name))
		if err != nil {
			return err
		}
		if !ok {
			v = []byte("nothing")
		}
		fmt.Fprintf(out, "%s\n", v)
	case "scan":
		if key != "" {
			return tr.b.Scan(stream.KeyGroup(group), uint16(state), key, func(space, value []byte) error {
				fmt.Fprintf(out, "%s: %s\n", space, value)
				return nil
			})
		}
		return tr.b.ScanState(everyGroup, uint16(state), func(g stream.KeyGroup, key string, space, value []byte) error {
			fmt.Fprintf(out, "group %d, %s, %s: %s\n", g, key, space, value)
			return nil
		})
	default:
		return fmt.Errorf("no command %q", d.Cmd)
	}
	return nil
}
