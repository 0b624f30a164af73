package pebblestate

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

func TestHeadsOrderKeysAsBytesDo(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	key := func() []byte {
		b := make([]byte, rnd.IntN(20))
		for i := range b {
			b[i] = byte(rnd.IntN(3)) // many zeros, many equal beginnings
		}
		return b
	}
	unsure := 0
	for range 200_000 {
		x, y := key(), key()
		order, sure := headOf(x).compare(headOf(y))
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
		t.Log("no pair with equal heads came up")
	}
}
