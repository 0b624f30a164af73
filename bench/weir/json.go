package main

import (
	"strconv"
	"sync"
	"unsafe"

	"github.com/bytedance/sonic/decoder"
	"github.com/bytedance/sonic/encoder"

	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/stream"
)

// event is what the works need of a record; the input has more fields.
type event struct {
	User   string  `json:"user"`
	Amount float64 `json:"amount"`
	TS     int64   `json:"ts"`
}

// parser is one use of the JSON library. Parsers are reused, since the library makes what it is given escape.
type parser struct {
	decoder decoder.Decoder
	event   event
}

var parsers = sync.Pool{New: func() any {
	p := new(parser)
	p.decoder.SetOptions(decoder.OptionNoValidateJSON) // as sonic.ConfigFastest, which limit-json uses
	return p
}}

// decode parses with the library of the peer limit-json. The strings of an event share the record's bytes.
func decode(r *stream.Record) (event, error) {
	p := parsers.Get().(*parser)
	p.event = event{}
	p.decoder.Reset(unsafe.String(unsafe.SliceData(r.Value), len(r.Value)))
	err := p.decoder.Decode(&p.event)
	if err == nil {
		err = p.decoder.CheckTrailings()
	}
	e := p.event
	parsers.Put(p)
	return e, err
}

// encode writes {"user","amount","ts"} with the library of the peer limit-json.
func encode(e event, r *stream.Record) error {
	p := parsers.Get().(*parser)
	p.event = e
	err := encoder.EncodeInto(&r.Value, &p.event, encoder.NoQuoteTextMarshaler)
	parsers.Put(p)
	return err
}

// encodeTotal writes {"user","count","sum"}. Like the peers it puts the text together by hand.
func encodeTotal(u userTotal, r *stream.Record) error {
	r.Value = append(r.Value, `{"user":"`...)
	r.Value = append(r.Value, u.user...)
	r.Value = append(r.Value, `","count":`...)
	r.Value = strconv.AppendInt(r.Value, u.Count, 10)
	r.Value = append(r.Value, `,"sum":`...)
	r.Value = strconv.AppendFloat(r.Value, u.Sum, 'f', -1, 64)
	r.Value = append(r.Value, '}')
	return nil
}

// encodeWindow writes {"user","window","count"}.
func encodeWindow(c operators.KeyWindowCount, r *stream.Record) error {
	r.Value = append(r.Value, `{"user":"`...)
	r.Value = append(r.Value, c.Key...)
	r.Value = append(r.Value, `","window":`...)
	r.Value = strconv.AppendInt(r.Value, c.Start, 10)
	r.Value = append(r.Value, `,"count":`...)
	r.Value = strconv.AppendInt(r.Value, c.Count, 10)
	r.Value = append(r.Value, '}')
	return nil
}
