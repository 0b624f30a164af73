package row

import (
	"fmt"
	"sync"
	"unsafe"

	"github.com/weirstream/weir/internal/jsontext"
	"github.com/weirstream/weir/stream"
)

// Decoder makes rows of the records of one source. It is safe for concurrent use.
type Decoder struct {
	schema *Schema
	raw    bool
	meta   *bool
	// required are the fields that must not be null.
	required []int
	// byName is used beyond a few fields.
	byName map[string]int
	arenas sync.Pool
}

// NewJSONDecoder makes the decoder of a source whose values are JSON objects. *meta says whether Metadata is wanted; it
// is read at run time.
func NewJSONDecoder(s *Schema, meta *bool) *Decoder {
	d := &Decoder{schema: s, meta: meta}
	if len(s.Fields) > 8 {
		d.byName = s.index
	}
	return d
}

// RawFields are the fields of a source that takes records as they are.
var RawFields = []Field{
	{Name: "key", Kind: KindString},
	{Name: "value", Kind: KindString},
	{Name: "timestamp", Kind: KindTimestamp},
	{Name: "topic", Kind: KindString},
	{Name: "partition", Kind: KindInt},
	{Name: "offset", Kind: KindInt},
}

// NewRawDecoder makes the decoder of a source of RawFields.
func NewRawDecoder(s *Schema, meta *bool) *Decoder { return &Decoder{schema: s, raw: true, meta: meta} }

// Decode makes a row of a record; it shares the record's bytes. The error says why the record is bad.
func (d *Decoder) Decode(rec *stream.Record) (*Row, error) {
	a, _ := d.arenas.Get().(*Arena)
	if a == nil {
		a = new(Arena)
	}
	r, err := d.decode(a, rec)
	d.arenas.Put(a)
	return r, err
}

func (d *Decoder) decode(a *Arena, rec *stream.Record) (*Row, error) {
	n := len(d.schema.Fields)
	if *d.meta {
		n += len(Metadata)
	}
	r := a.Row(n)
	r.Raw, r.Same = rec.Value, true
	if *d.meta {
		setMetadata(a, r.Values[len(d.schema.Fields):], rec)
	}
	if d.raw {
		v := r.Values
		v[0], v[1], v[2] = bytesValue(rec.Key), bytesValue(rec.Value), Timestamp(rec.Timestamp)
		v[3], v[4], v[5] = String(rec.Topic), Int(int64(rec.Partition)), Int(rec.Offset)
		return r, nil
	}
	if rec.Value == nil {
		return r, d.checkRequired(r.Values)
	}
	if err := d.object(a, bytesValue(rec.Value).Str(), r.Values); err != nil {
		return nil, err
	}
	return r, d.checkRequired(r.Values)
}

// Require makes a record bad in which a field is null or missing. It is called before the first Decode.
func (d *Decoder) Require(field int) { d.required = append(d.required, field) }

func (d *Decoder) checkRequired(values []Value) error {
	for _, i := range d.required {
		if f := &d.schema.Fields[i]; values[i].IsNull() {
			return fmt.Errorf("field %q: want %v, got null or nothing", f.Name, f.Kind)
		}
	}
	return nil
}

func bytesValue(b []byte) Value {
	if b == nil {
		return Null
	}
	return String(unsafe.String(unsafe.SliceData(b), len(b)))
}

func setMetadata(a *Arena, v []Value, rec *stream.Record) {
	v[0], v[1], v[2] = bytesValue(rec.Key), Timestamp(rec.Timestamp), String(rec.Topic)
	v[3], v[4] = Int(int64(rec.Partition)), Int(rec.Offset)
	b := append(a.Buffer(64), '{')
	for i, h := range rec.Headers {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(jsontext.AppendString(b, h.Key), ':')
		if h.Value == nil {
			b = append(b, "null"...)
		} else {
			b = jsontext.AppendString(b, bytesValue(h.Value).Str())
		}
	}
	b = append(b, '}')
	a.Keep(b)
	v[5] = JSON(bytesValue(b).Str())
}

// object reads the fields of the schema out of a JSON object; the last of two with the same name wins.
func (d *Decoder) object(a *Arena, s string, values []Value) error {
	i := jsontext.SkipSpace(s, 0)
	if i >= len(s) || s[i] != '{' {
		if end := jsontext.ScanValue(s, i, 0); end < 0 {
			return jsontext.SyntaxError(s, end)
		}
		return fmt.Errorf("not a JSON object: it begins with %q", s[i])
	}
	i = jsontext.SkipSpace(s, i+1)
	next := 0
	for first := true; ; first = false {
		if first && i < len(s) && s[i] == '}' {
			break
		}
		if i >= len(s) || s[i] != '"' {
			return jsontext.SyntaxError(s, ^i)
		}
		end, escaped := jsontext.ScanString(s, i)
		if end < 0 {
			return jsontext.SyntaxError(s, end)
		}
		name := s[i+1 : end-1]
		if escaped {
			name = string(jsontext.AppendUnescaped(nil, name))
		}
		if i = jsontext.SkipSpace(s, end); i >= len(s) || s[i] != ':' {
			return jsontext.SyntaxError(s, ^i)
		}
		i = jsontext.SkipSpace(s, i+1)
		if f := d.find(name, next); f < 0 {
			i = jsontext.ScanValue(s, i, 1)
		} else {
			next = f + 1
			var err error
			if i, err = readField(a, s, i, &d.schema.Fields[f], &values[f]); err != nil {
				return err
			}
		}
		if i < 0 {
			return jsontext.SyntaxError(s, i)
		}
		if i = jsontext.SkipSpace(s, i); i < len(s) && s[i] == ',' {
			i = jsontext.SkipSpace(s, i+1)
			continue
		}
		if i >= len(s) || s[i] != '}' {
			return jsontext.SyntaxError(s, ^i)
		}
		break
	}
	if i = jsontext.SkipSpace(s, i+1); i < len(s) {
		return jsontext.SyntaxError(s, ^i)
	}
	return nil
}

// find returns the field of a name, -1 if none was declared; next is the likeliest one.
func (d *Decoder) find(name string, next int) int {
	fields := d.schema.Fields
	if next < len(fields) && fields[next].Name == name {
		return next
	}
	if d.byName != nil {
		if f, ok := d.byName[name]; ok {
			return f
		}
		return -1
	}
	for f := range fields {
		if fields[f].Name == name {
			return f
		}
	}
	return -1
}
