package checkpoint

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"os"
	"reflect"
	"strings"
	"testing"
)

var rewriteGolden = flag.Bool("rewrite-golden", false, "write testdata/*.golden anew: only with a new format")

// examplePointer has every field set.
func examplePointer() *Pointer {
	inline := []byte("a delta")
	return &Pointer{
		Job: "clicks", Shard: 0, Shards: 1, Checkpoint: 42,
		Attempt: "0b3f9a52-7c1d-4e8a-9d55-3a6f0c1e2b47", Lineage: "c2a7d1c8-52f4-4f0e-8a3b-90d6a1b7e311", Host: "a",
		Time: 1_700_000_000_000, Request: "start", First: true, Final: true, KeyGroups: 128,
		Topics: []Topic{{Role: "source", Step: "views", Name: "views", ID: TopicID{1, 2, 3}}},
		Sources: []Source{{Name: "views", Splits: []Split{
			{Topic: "views", TopicID: TopicID{1, 2, 3}, Partition: 3, Offset: 1207, LeaderEpoch: -1, Stop: -1, Done: true, MaxTimestamps: map[string]int64{"time": 1_700_000_000_000, "other": -1 << 63}},
		}}},
		Operators: []Operator{{Name: "count", Kind: "count", Watermark: -1 << 63, States: []State{{ID: 1, Name: "sum", Kind: "value", Type: "int64", Version: 1}}}},
		Base:      &Base{Checkpoint: 30, Files: []File{{Local: "000009.sst", Name: "clicks/0/a/ff.sst", Size: 7, Hash: Hash{255}}}},
		Deltas: []Delta{
			{First: 31, Checkpoint: 40, Size: 3, Hash: Hash{1}, File: &File{Name: "clicks/0/a/01.delta", Size: 3, Hash: Hash{1}}, Offset: -1},
			{First: 41, Checkpoint: 41, Size: 3, Hash: Hash{2}, Offset: 77},
			{First: 42, Checkpoint: 42, Size: int64(len(inline)), Hash: sha256.Sum256(inline), Inline: inline, Offset: -1},
		},
		Savepoint:  "/sp/a",
		Unfinished: []Savepoint{{Directory: "/sp/b", Checkpoint: 41, Offset: 77}},
	}
}

// The bytes are the format: a pointer written by one version is read by the next.
func TestPointerFormatIsFrozen(t *testing.T) {
	got, err := EncodePointer(examplePointer())
	if err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/pointer.golden"
	if *rewriteGolden {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("the encoding has changed:\n got %x\nwant %x", got, want)
	}
	p, err := DecodePointer(want)
	if err != nil {
		t.Fatal(err)
	}
	example := examplePointer()
	example.Format = Format
	if !reflect.DeepEqual(p, example) {
		t.Errorf("got %+v\nwant %+v", p, example)
	}
}

func TestPointerOfANewerFormatIsRefusedWithBothNumbers(t *testing.T) {
	b, err := encoding.Marshal(map[string]int{"format": 2, "checkpoint": 42})
	if err != nil {
		t.Fatal(err)
	}
	_, err = DecodePointer(b)
	if err == nil || errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "format 2 and this program knows 1") {
		t.Fatal(err)
	}
}

func TestBytesThatAreNoPointerAreCorrupt(t *testing.T) {
	whole, err := EncodePointer(examplePointer())
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range [][]byte{nil, []byte("x"), []byte("{}"), whole[:len(whole)-1], append(bytes.Clone(whole), 0)} {
		if _, err := DecodePointer(b); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%q: %v", b, err)
		}
	}
	if empty, err := encoding.Marshal(map[string]int{}); err != nil {
		t.Fatal(err)
	} else if _, err := DecodePointer(empty); !errors.Is(err, ErrCorrupt) {
		t.Errorf("without format: %v", err)
	}
}

func TestPointerThatIsTooLargeComesBackWholeFromItsFile(t *testing.T) {
	ctx := context.Background()
	files := memFiles(t)
	p := examplePointer()
	for i := range int32(1000) {
		p.Sources[0].Splits = append(p.Sources[0].Splits, Split{Topic: "views", Partition: i, Offset: int64(i)})
	}
	packed, err := PackPointer(p, 2000)
	if err != nil {
		t.Fatal(err)
	}
	if len(packed.Record) > 2000 || packed.Rest == nil {
		t.Fatalf("record of %d bytes, rest of %d", len(packed.Record), len(packed.Rest))
	}
	if _, err := LoadPointer(ctx, files, packed.Record); err == nil {
		t.Fatal("the rest is missing, and nobody noticed")
	}
	if _, err := files.UploadBytes(ctx, func(Hash) string { return packed.File.Name }, packed.Rest); err != nil {
		t.Fatal(err)
	}
	got, err := LoadPointer(ctx, files, packed.Record)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(*got.File, packed.File) {
		t.Errorf("file %v, want %v", got.File, packed.File)
	}
	got.File = nil
	if !reflect.DeepEqual(got, p) {
		t.Errorf("got %+v\nwant %+v", got, p)
	}
	// Later pointers find an inline delta in the record, by its offset.
	delta, err := InlineDelta(packed.Record, Delta{Hash: p.Deltas[2].Hash, Checkpoint: 42})
	if err != nil || string(delta) != "a delta" {
		t.Errorf("%q, %v", delta, err)
	}
	if _, err := InlineDelta(packed.Record, p.Deltas[1]); !errors.Is(err, ErrCorrupt) {
		t.Error(err)
	}
}

func TestPointerThatFitsNeedsNoFile(t *testing.T) {
	packed, err := PackPointer(examplePointer(), MaxPointer)
	if err != nil || packed.Rest != nil {
		t.Fatal(packed, err)
	}
	if _, err := PackPointer(examplePointer(), 100); err == nil {
		t.Fatal("a head that does not fit is an error")
	}
}

func memFiles(t *testing.T) *Files {
	t.Helper()
	s, err := OpenStore(context.Background(), "mem://")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return NewFiles(s, nil)
}

func TestPointerPageNamesEveryField(t *testing.T) {
	page, err := os.ReadFile("../docs/formats/pointer.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[reflect.Type]bool{}
	var walk func(reflect.Type)
	walk = func(typ reflect.Type) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct || seen[typ] {
			return
		}
		seen[typ] = true
		for i := range typ.NumField() {
			name, _, _ := strings.Cut(typ.Field(i).Tag.Get("cbor"), ",")
			if !strings.Contains(string(page), "`"+name+"`") {
				t.Errorf("%s.%s: the page does not name `%s`", typ.Name(), typ.Field(i).Name, name)
			}
			walk(typ.Field(i).Type)
		}
	}
	walk(reflect.TypeFor[Pointer]())
}
