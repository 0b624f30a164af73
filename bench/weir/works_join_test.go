package main

import (
	"testing"

	"github.com/weirstream/weir/job"
	"github.com/weirstream/weir/stream"
)

func TestPairsAreWrittenAsThePeersDo(t *testing.T) {
	var r stream.Record
	want := `{"user":"u0000017","a":31.25,"b":0.5,"ts_a":1795977600123,"ts_b":1795977660123}`
	err := job.JSONOut[pair](test)(pair{"u0000017", 31.25, 0.5, 1795977600123, 1795977660123}, &r)
	if err != nil || string(r.Value) != want {
		t.Errorf("%s, %v; want %s", r.Value, err, want)
	}
}

func TestHalvesSurviveTheirCodecWithoutTheUser(t *testing.T) {
	b, err := halfCodec{}.Append([]byte("before"), half{"u0000017", 0.29})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := (halfCodec{}).Decode(b[len("before"):]); err != nil || got != (half{amount: 0.29}) {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := (halfCodec{}).Decode(b); err == nil {
		t.Error("14 bytes were half a pair")
	}
}
