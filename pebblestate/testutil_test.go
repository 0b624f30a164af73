package pebblestate

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/weirstream/weir/stream"
)

// storage is the checkpoint's storage of a test: the files of bases by content.
type storage map[[32]byte][]byte

func (s storage) fetch(_ context.Context, f BaseFile, create func() (io.WriteCloser, error)) error {
	b, ok := s[f.Hash]
	if !ok {
		return fmt.Errorf("%s: %w", f.Name, os.ErrNotExist)
	}
	return fetched(b, create)
}

// fetched writes what is fetched to where it is to go.
func fetched(content []byte, create func() (io.WriteCloser, error)) error {
	w, err := create()
	if err != nil {
		return err
	}
	_, err = w.Write(bytes.Clone(content)) // which may be changed by who writes it
	return errors.Join(err, w.Close())
}

// store uploads the new files of a base.
func (s storage) store(t testing.TB, fs vfs.FS, base BaseFiles) {
	t.Helper()
	for _, f := range base.Files {
		if _, ok := s[f.Hash]; ok {
			continue
		}
		r, err := fs.Open(f.Path)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		s[f.Hash] = b
	}
}

func open(t testing.TB, opts Options, restore Restore) *Backend {
	t.Helper()
	b, err := Open(t.Context(), opts, restore)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return b
}

// declare makes state 0.
func declare(t testing.TB, b *Backend) {
	t.Helper()
	id, err := b.StateID("count", StateDesc{Name: "n", Kind: "value", Type: "cbor:string", Version: 1})
	if err != nil || id != 0 {
		t.Fatalf("state %d, error %v", id, err)
	}
}

// add adds a delta that sets keys to values, or deletes where the value is "-".
func add(t testing.TB, b *Backend, checkpoint int64, state uint16, pairs ...string) {
	t.Helper()
	w := b.NewDelta()
	for i := 0; i < len(pairs); i += 2 {
		var err error
		if group := groupOf(pairs[i]); pairs[i+1] == "-" {
			err = w.Delete(group, state, pairs[i], nil)
		} else {
			err = w.Put(group, state, pairs[i], nil, []byte(pairs[i+1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := b.AddDelta(checkpoint, w); err != nil {
		t.Fatal(err)
	}
}

func groupOf(key string) stream.KeyGroup {
	return stream.KeyGroupOf([]byte(key), stream.DefaultKeyGroups)
}

func writeBase(t testing.TB, b *Backend, upTo int64) BaseFiles {
	t.Helper()
	base, err := b.WriteBase(t.Context(), upTo)
	if err != nil {
		t.Fatal(err)
	}
	return base
}

var everyGroup = stream.KeyGroupRange{First: 0, Last: stream.DefaultKeyGroups - 1}

// dump reads a state by ScanState.
func dump(t testing.TB, b *Backend, groups stream.KeyGroupRange, state uint16) map[string]string {
	t.Helper()
	out := make(map[string]string)
	err := b.ScanState(groups, state, func(group stream.KeyGroup, key string, namespace, value []byte) error {
		if !groups.Contains(group) {
			t.Errorf("key %q of group %d in a scan of %s", key, group, groups)
		}
		name := key
		if len(namespace) > 0 {
			name += "/" + string(namespace)
		}
		if _, ok := out[name]; ok {
			t.Errorf("key %q comes twice", name)
		}
		out[name] = string(value)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// rawChange adds a change whose key is encoded already, or is none.
func rawChange(w *DeltaWriter, c change) {
	kind := kindSet
	if c.deleted {
		kind = kindDelete
	}
	b := append(binary.AppendUvarint([]byte{kind}, uint64(len(c.key))), c.key...)
	if !c.deleted {
		b = append(binary.AppendUvarint(b, uint64(len(c.value))), c.value...)
	}
	w.raw(b, 0)
}

// lastChanges are the last change of each key of the deltas, oldest first, in order of key.
func lastChanges(reprs [][]byte) (*changes, error) {
	t, err := lastChangesTable(reprs)
	if err != nil {
		return nil, err
	}
	t.c.sort()
	return t.c, nil
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
