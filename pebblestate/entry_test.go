package pebblestate

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

func TestEntriesOrderKeysAsBytesDo(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	key := func() []byte {
		b := make([]byte, rnd.IntN(24))
		for i := range b {
			if i < rnd.IntN(2)*16 {
				continue // many equal beginnings, many zeros
			}
			b[i] = byte(rnd.IntN(3))
		}
		if rnd.IntN(2) == 0 {
			clear(b[:min(16, len(b))])
		}
		return b
	}
	unsure := 0
	for range 200_000 {
		x, y := key(), key()
		a, b := entryOf(x), entryOf(y)
		order, sure := a.compare(&b)
		if !sure {
			unsure++
			if len(x) <= 16 || len(y) <= 16 || !bytes.Equal(x[:16], y[:16]) {
				t.Fatalf("%v and %v: not sure", x, y)
			}
			continue
		}
		if want := bytes.Compare(x, y); order != want {
			t.Fatalf("%v and %v: %d, want %d", x, y, order, want)
		}
	}
	if unsure == 0 {
		t.Error("no pair of long keys with equal beginnings came up")
	}
}

func TestTheBeginningOfAKeyDoesNotDependOnWhatFollows(t *testing.T) {
	follow := bytes.Repeat([]byte{0xff}, 40)
	for size := range 24 {
		key := make([]byte, size)
		for i := range key {
			key[i] = byte(i + 1)
		}
		want := entryOf(key)
		for more := range 20 {
			hi, lo := beginning(append(bytes.Clone(key), follow[:more]...), size)
			if hi != want.hi || lo != want.lo {
				t.Errorf("%d bytes, %d follow: %x %x, want %x %x", size, more, hi, lo, want.hi, want.lo)
			}
		}
	}
}
