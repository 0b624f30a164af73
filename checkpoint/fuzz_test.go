package checkpoint

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// Whatever is in a record of the checkpoint topic, the answer is a pointer, damage, or a newer version; a pointer that
// comes out is the same when it is written and read again.
func FuzzDecodePointer(f *testing.F) {
	golden, err := os.ReadFile("testdata/pointer.golden")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(golden)
	f.Add([]byte{0xa1, 0x66, 'f', 'o', 'r', 'm', 'a', 't', 0x01})
	f.Add([]byte{0xbf})
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := DecodePointer(b)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) && !strings.Contains(err.Error(), "a newer version wrote it") {
				t.Fatal(err)
			}
			return
		}
		p.AllFiles()
		for _, d := range p.Deltas {
			if _, err := InlineDelta(b, d); err != nil && !errors.Is(err, ErrCorrupt) {
				t.Fatal(err)
			}
		}
		first := encode(t, p)
		again, err := DecodePointer(first)
		if err != nil {
			t.Fatalf("%x: it does not read what it wrote: %v", b, err)
		}
		if second := encode(t, again); !bytes.Equal(first, second) {
			t.Errorf("%x is written as %x and then as %x", b, first, second)
		}
	})
}

func encode(t *testing.T, p *Pointer) []byte {
	t.Helper()
	b, err := EncodePointer(p)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Whatever limit there is for a record, a pointer that is written in two parts comes back as it was.
func FuzzPackedPointerComesBack(f *testing.F) {
	f.Add(uint16(600), uint8(3), uint8(2), []byte("a delta"))
	f.Add(uint16(0), uint8(0), uint8(0), []byte{})
	f.Add(uint16(2000), uint8(40), uint8(40), []byte("x"))
	f.Fuzz(func(t *testing.T, limit uint16, inline, stored uint8, content []byte) {
		p := examplePointer()
		p.Deltas = nil
		for i := range int64(stored) {
			p.Deltas = append(p.Deltas, Delta{First: i, Checkpoint: i, Offset: i % 3 * 100, Hash: Hash{byte(i), 7}})
		}
		for i := range int64(inline) {
			b := append([]byte{byte(i)}, content...)
			p.Deltas = append(p.Deltas, Delta{First: 1000 + i, Checkpoint: 1000 + i, Size: int64(len(b)), Inline: b, Hash: sha256.Sum256(b), Offset: -1})
		}
		packed, err := PackPointer(p, int(limit))
		if err != nil {
			if !strings.Contains(err.Error(), "lower inline_threshold") {
				t.Fatal(err)
			}
			return
		}
		dir := t.TempDir()
		if packed.Rest != nil {
			path := filepath.Join(dir, packed.File.Name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, packed.Rest, 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		got, err := LoadPointer(t.Context(), filesIn(t, dir), packed.Record)
		if err != nil {
			t.Fatal(err)
		}
		got.File = nil
		if !reflect.DeepEqual(got, p) {
			t.Errorf("got  %+v\nwant %+v", got, p)
		}
	})
}

// A record that leads to any file at all, with the right hash: a pointer or an error.
func FuzzLoadPointer(f *testing.F) {
	p := examplePointer()
	whole, err := EncodePointer(p)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add([]byte("no pointer"))
	f.Fuzz(func(t *testing.T, rest []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "rest"), rest, 0o644); err != nil {
			t.Fatal(err)
		}
		head := examplePointer()
		head.Deltas = head.Deltas[2:]
		head.File = &File{Name: "rest", Size: int64(len(rest)), Hash: sha256.Sum256(rest)}
		got, err := LoadPointer(t.Context(), filesIn(t, dir), encode(t, head))
		switch {
		case err == nil && (got.Job != head.Job || got.Checkpoint != head.Checkpoint || got.Attempt != head.Attempt):
			t.Errorf("it is the pointer of checkpoint %d of job %s", got.Checkpoint, got.Job)
		case err != nil && !errors.Is(err, ErrCorrupt) && !strings.Contains(err.Error(), "a newer version wrote it"):
			t.Error(err)
		}
	})
}

func filesIn(t *testing.T, dir string) *Files {
	t.Helper()
	store, err := OpenStore(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return NewFiles(store, nil)
}

// Whatever is in a manifest, even with the right hash: a manifest that is the same when it is written and read again, or
// an error.
func FuzzDecodeManifest(f *testing.F) {
	p := examplePointer()
	p.Deltas = p.Deltas[:1]
	m, err := NewManifest(p)
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(m.Raw), m.ID)
	f.Add([]byte(`{"deltas":[null],"base":{"files":[{}]}}`), "-0")
	f.Fuzz(func(t *testing.T, raw []byte, id string) {
		_, _ = decodeManifest(raw)
		var compact bytes.Buffer
		if json.Compact(&compact, raw) != nil {
			return
		}
		text, err := json.Marshal(&Manifest{Format: Format, ID: id, Hash: sha256.Sum256(compact.Bytes()), Raw: compact.Bytes()})
		if err != nil {
			return
		}
		m, err := decodeManifest(text)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) && !strings.Contains(fmt.Sprint(err), "a newer version wrote it") {
				t.Fatal(err)
			}
			return
		}
		m.Pointer.AllFiles()
		first, err := json.Marshal(m.Pointer)
		if err != nil {
			t.Fatal(err)
		}
		again := new(Pointer)
		if err := json.Unmarshal(first, again); err != nil {
			t.Fatalf("it does not read what it wrote: %v", err)
		}
		if second, err := json.Marshal(again); err != nil || !bytes.Equal(first, second) {
			t.Errorf("%s is written as %s and then as %s (%v)", raw, first, second, err)
		}
	})
}
