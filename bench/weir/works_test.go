package main

import (
	"testing"

	"github.com/weirstream/weir/job"
	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/stream"
)

const value = `{"user":"u0000017","page":"/p/4","ts":1795977600123,"amount":31.25,"country":"DE","ref":"9f3c9f3c9f3c9f3c80000000"}`

// The decode and encode functions of the works.
var (
	test        = job.New("test")
	decode      = job.JSON[event](test)
	encode      = job.JSONOut[event](test)
	encodeTotal = job.JSONOut[userTotal](test)
)

func TestWorksReadAndWriteWhatThePeersDo(t *testing.T) {
	e, err := decode(&stream.Record{Value: []byte(value)})
	if want := (event{"u0000017", 31.25, 1795977600123}); err != nil || e != want {
		t.Fatalf("decode: %+v, %v; want %+v", e, err, want)
	}
	if _, err := decode(&stream.Record{Value: []byte(`{"user":`)}); err == nil {
		t.Error("decode took half an object")
	}
	var r stream.Record
	for _, c := range []struct {
		want   string
		encode func() error
	}{
		{`{"user":"u0000017","amount":31.25,"ts":1795977600123}`, func() error { return encode(e, &r) }},
		{`{"user":"u0000017","count":2,"sum":62.5}`, func() error { return encodeTotal(userTotal{"u0000017", total{2, 62.5}}, &r) }},
		{`{"user":"u0000017","window":60000,"count":3}`, func() error {
			return encodeWindow(operators.KeyWindowCount{Key: "u0000017", Start: 60_000, End: 120_000, Count: 3}, &r)
		}},
	} {
		r.Value = r.Value[:0]
		if err := c.encode(); err != nil || string(r.Value) != c.want {
			t.Errorf("%s, %v; want %s", r.Value, err, c.want)
		}
	}
}

func TestTotalsSurviveTheirCodec(t *testing.T) {
	want := total{3, 1.1}
	b, err := totalCodec{}.Append([]byte("before"), want)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := (totalCodec{}).Decode(b[len("before"):]); err != nil || got != want {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	if _, err := (totalCodec{}).Decode(b); err == nil {
		t.Error("22 bytes were a total")
	}
}

// What the engine adds to it is measured on a whole job: bench/figures, "allocs".
func TestTheUsersPartOfARecordAllocatesNothing(t *testing.T) {
	in, out := stream.Record{Value: []byte(value)}, stream.Record{Value: make([]byte, 0, 256)}
	allocs := testing.AllocsPerRun(1000, func() {
		e, err := decode(&in)
		if err != nil {
			t.Fatal(err)
		}
		out.Value = out.Value[:0]
		encodeTotal(userTotal{e.User, total{1, e.Amount}}, &out)
	})
	if allocs >= 1 {
		t.Errorf("%.2f allocations a record", allocs)
	}
}

func BenchmarkDecodeAndEncode(b *testing.B) {
	b.ReportAllocs()
	in, out := stream.Record{Value: []byte(value)}, stream.Record{Value: make([]byte, 0, 256)}
	for b.Loop() {
		e, err := decode(&in)
		if err != nil {
			b.Fatal(err)
		}
		out.Value = out.Value[:0]
		encodeTotal(userTotal{e.User, total{1, e.Amount}}, &out)
	}
}
