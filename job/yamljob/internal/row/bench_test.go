package row

import (
	"testing"

	"github.com/valyala/fastjson"

	"github.com/weirstream/weir/stream"
)

var view = []byte(`{"user":"u0001234","page":"/p/17","ts":1795977600123,"amount":12.34,"country":"DE","ref":"a1b2c3d4e5f60718293a4b5c"}`)

func BenchmarkDecode(b *testing.B) {
	s := NewSchema([]Field{{Name: "user", Kind: KindString}, {Name: "page", Kind: KindString}, {Name: "amount", Kind: KindFloat}, {Name: "ts", Kind: KindTimestamp}})
	d := NewJSONDecoder(s, every)
	rec := &stream.Record{Value: view}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := d.Decode(rec); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFastjson is the same with a parser that builds a tree and copies its input.
func BenchmarkFastjson(b *testing.B) {
	var p fastjson.Parser
	b.ReportAllocs()
	for b.Loop() {
		v, err := p.ParseBytes(view)
		if err != nil {
			b.Fatal(err)
		}
		if len(v.GetStringBytes("user")) == 0 || len(v.GetStringBytes("page")) == 0 || v.GetFloat64("amount") == 0 || v.GetInt64("ts") == 0 {
			b.Fatal("wrong")
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	s := NewSchema([]Field{{Name: "user", Kind: KindString}, {Name: "clicks", Kind: KindInt}, {Name: "total", Kind: KindFloat}})
	e := NewEncoder(s, false)
	r := Row{Values: []Value{String("u0001234"), Int(1234), Float(23456.78)}}
	buf := make([]byte, 0, 200)
	b.ReportAllocs()
	for b.Loop() {
		buf = e.Append(buf[:0], r)
	}
}
