package typed

import (
	"bytes"
	"encoding/json"
	"testing"
	"unsafe"

	"github.com/bytedance/sonic/decoder"
	"github.com/bytedance/sonic/encoder"
)

// event is what the works of bench/weir need of a record; the input has more fields.
type event struct {
	User   string  `json:"user"`
	Amount float64 `json:"amount"`
	TS     int64   `json:"ts"`
}

var eventText = []byte(`{"user":"u0000017","page":"/p/4","ts":1795977600123,"amount":31.25,"country":"DE","ref":"9f3c9f3c9f3c9f3c80000000"}`)

func BenchmarkDecode(b *testing.B) {
	d, _ := NewDecoder[event]()
	b.ReportAllocs()
	for b.Loop() {
		var e event
		if err := d.Decode(eventText, &e); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDecodeSonic is as quick as sonic gets: a decoder that is used again, no copies, and no check of what is skipped.
func BenchmarkDecodeSonic(b *testing.B) {
	var d decoder.Decoder
	d.SetOptions(decoder.OptionNoValidateJSON)
	e := new(event)
	b.ReportAllocs()
	for b.Loop() {
		*e = event{}
		d.Reset(unsafe.String(unsafe.SliceData(eventText), len(eventText)))
		if err := d.Decode(e); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeEncodingJSON(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		var e event
		if err := json.Unmarshal(eventText, &e); err != nil {
			b.Fatal(err)
		}
	}
}

var anEvent = event{"u0000017", 31.25, 1795977600123}

func BenchmarkEncode(b *testing.B) {
	e, _ := NewEncoder[event]()
	dst := make([]byte, 0, 256)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.Append(dst, &anEvent); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncodeSonic(b *testing.B) {
	dst := make([]byte, 0, 256)
	b.ReportAllocs()
	for b.Loop() {
		out := dst[:0]
		if err := encoder.EncodeInto(&out, &anEvent, encoder.NoQuoteTextMarshaler); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncodeEncodingJSON(b *testing.B) {
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	b.ReportAllocs()
	for b.Loop() {
		buf.Reset()
		if err := e.Encode(&anEvent); err != nil {
			b.Fatal(err)
		}
	}
}
