package pebblestate

import (
	"bytes"
	"encoding/hex"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/weirstream/weir/stream"
)

// The bytes are the format: what one version writes is read by the next.
func TestTheFormatIsFrozen(t *testing.T) {
	w := newDelta(0, 0)
	if err := w.Put(73, 1, "u0000001", []byte{0x80}, []byte("v")); err != nil {
		t.Fatal(err)
	}
	if err := w.Delete(258, 2, "", nil); err != nil {
		t.Fatal(err)
	}
	want := "0000000000000000" + "02000000" +
		"01" + "0e" + "0049" + "0001" + "08" + hex.EncodeToString([]byte("u0000001")) + "80" + "01" + "76" +
		"00" + "05" + "0102" + "0002" + "00"
	if got := hex.EncodeToString(w.Bytes()); got != want {
		t.Errorf("a delta is\n%s, want\n%s", got, want)
	}
}

func TestADeltaIsAPebbleBatch(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	w := newDelta(0, 0)
	db, err := pebble.Open("d", &pebble.Options{FS: vfs.NewMem(), FormatMajorVersion: formatVersion, Logger: newBreakdown(defaulted().Logger)})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	own := db.NewBatch()
	for range 1000 {
		key := strings.Repeat("k", rnd.IntN(300))
		space, value := make([]byte, rnd.IntN(20)), make([]byte, rnd.IntN(20_000))
		group, state := stream.KeyGroup(rnd.IntN(math.MaxUint16)), uint16(rnd.IntN(9))
		k := appendKey(nil, group, state, key, space)
		if len(k) != keyLen(key, space) {
			t.Fatalf("keyLen of %d bytes of key is %d, want %d", len(key), keyLen(key, space), len(k))
		}
		g, s, name, ns, err := splitKey(k)
		if g != group || s != state || string(name) != key || !bytes.Equal(ns, space) || err != nil {
			t.Fatalf("key %x comes apart as %d, %d, %q, %x, %v", k, g, s, name, ns, err)
		}
		if rnd.IntN(3) == 0 {
			if err := w.Delete(group, state, key, space); err != nil {
				t.Fatal(err)
			}
			err = own.Delete(k, nil)
		} else {
			if err := w.Put(group, state, key, space, value); err != nil {
				t.Fatal(err)
			}
			err = own.Set(k, value, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	repr := w.Bytes()
	if !bytes.Equal(repr, own.Repr()) {
		t.Fatal("Pebble writes another batch of the same changes")
	}
	b := db.NewBatch()
	if err := b.SetRepr(repr); err != nil {
		t.Fatal(err)
	}
	if err := db.Apply(b, pebble.NoSync); err != nil {
		t.Fatal(err)
	}
}

func defaulted() Options {
	var o Options
	o.EnsureDefaults()
	return o
}

func TestChangesAreSortedAndTheLastOneCounts(t *testing.T) {
	first, second := newDelta(0, 0), newDelta(0, 0)
	for _, k := range []string{"b", "a", "longer than sixteen bytes: 2", "longer than sixteen bytes: 1", "b"} {
		if err := first.Put(1, 0, k, nil, []byte{byte(first.Len())}); err != nil {
			t.Fatal(err)
		}
	}
	if err := second.Delete(1, 0, "a", nil); err != nil {
		t.Fatal(err)
	}
	all, err := lastChanges([][]byte{first.Bytes(), second.Bytes()})
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for i := range all.len() {
		c := all.at(i)
		_, _, key, _, _ := splitKey(c.key)
		keys = append(keys, string(key))
		switch {
		case string(key) == "a" && !c.deleted:
			t.Error("an older value hides a deletion")
		case string(key) == "b" && c.value[0] != 4:
			t.Errorf("b is %v, want the later of two in one delta", c.value)
		}
	}
	want := []string{"a", "b", "longer than sixteen bytes: 1", "longer than sixteen bytes: 2"}
	if !slices.Equal(keys, want) {
		t.Errorf("keys %q, want %q", keys, want)
	}
}

func TestPrefixEndIsAfterAllKeysOfThePrefix(t *testing.T) {
	for prefix, want := range map[string]string{"a": "b", "a\xff": "b", "\xff\xff": "", "\x00\x01": "\x00\x02"} {
		if got := string(prefixEnd(nil, []byte(prefix))); got != want {
			t.Errorf("prefixEnd(%q) = %q, want %q", prefix, got, want)
		}
	}
}

func TestOptionsNameEveryMistake(t *testing.T) {
	o := Options{CacheBytes: 5, BaseTimeout: -1}
	o.EnsureDefaults()
	err := o.Validate()
	for _, name := range []string{"dir", "cache_bytes", "base_timeout"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s is not in %q", name, err)
		}
	}
}
