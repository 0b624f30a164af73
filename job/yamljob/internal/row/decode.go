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
	wants  *Wants
	// required are the fields that must not be null.
	required []int
	// words are the jsontext.NameWord of the fields' names, byName is used beyond a few.
	words  []uint64
	byName map[string]int
	arenas sync.Pool
}

// NewJSONDecoder makes the decoder of a source whose values are JSON objects. What is wanted is read at run time. A field that
// nobody uses is checked all the same.
func NewJSONDecoder(s *Schema, wants *Wants) *Decoder {
	d := &Decoder{schema: s, wants: wants}
	for _, f := range s.Fields {
		d.words = append(d.words, jsontext.NameWord(f.Name))
	}
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
func NewRawDecoder(s *Schema, wants *Wants) *Decoder {
	return &Decoder{schema: s, raw: true, wants: wants}
}

// Decode makes a row of a record; it shares the record's bytes. The error says why the record is bad.
func (d *Decoder) Decode(rec *stream.Record) (Row, error) {
	a, _ := d.arenas.Get().(*Arena)
	if a == nil {
		a = new(Arena)
	}
	r, err := d.decode(a, rec)
	d.arenas.Put(a)
	return r, err
}

func (d *Decoder) decode(a *Arena, rec *stream.Record) (Row, error) {
	fields := len(d.schema.Fields)
	n := min(d.wants.Fields, fields)
	if d.raw {
		n = fields
	}
	if d.wants.Raw {
		n = fields + 1
	}
	if d.wants.Meta {
		n = fields + 1 + len(Metadata)
	}
	r := a.Row(n)
	if n > fields {
		r.Values[fields] = bytesValue(rec.Value)
		if d.wants.Meta {
			setMetadata(a, r.Values[fields+1:], rec)
		}
	}
	if d.raw {
		v := r.Values
		v[0], v[1], v[2] = bytesValue(rec.Key), bytesValue(rec.Value), Timestamp(rec.Timestamp)
		v[3], v[4], v[5] = String(rec.Topic), Int(int64(rec.Partition)), Int(rec.Offset)
		return r, nil
	}
	if rec.Value != nil {
		if err := d.object(a, unsafe.String(unsafe.SliceData(rec.Value), len(rec.Value)), r.Values); err != nil {
			return Row{}, err
		}
	}
	return r, d.checkRequired(r.Values)
}

// Require makes a record bad in which a field, one that is used, is null or missing. It is called before the first Decode.
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
		var f int
		if word, n, ok := jsontext.ScanName(s, i); ok {
			f = d.find(word, s[i+1:i+1+n], next)
			i += n + 2
		} else {
			end, escaped := jsontext.ScanString(s, i)
			if end < 0 {
				return jsontext.SyntaxError(s, end)
			}
			name := s[i+1 : end-1]
			if escaped {
				name = string(jsontext.AppendUnescaped(nil, name))
			}
			f = d.find(jsontext.NameWord(name), name, next)
			i = end
		}
		if i = jsontext.SkipSpace(s, i); i >= len(s) || s[i] != ':' {
			return jsontext.SyntaxError(s, ^i)
		}
		i = jsontext.SkipSpace(s, i+1)
		switch {
		case f >= 0:
			next = f + 1
			var unused Value
			v := &unused
			if f < len(values) {
				v = &values[f]
			}
			var err error
			if i, err = readField(a, s, i, &d.schema.Fields[f], v); err != nil {
				return err
			}
		case i < len(s) && s[i] == '"':
			i, _ = jsontext.ScanString(s, i)
		default:
			i = jsontext.ScanValue(s, i, 1)
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

// find returns the field of a name, whose jsontext.NameWord is word, -1 if none was declared; next is the likeliest one.
func (d *Decoder) find(word uint64, name string, next int) int {
	if next < len(d.words) && d.words[next] == word && d.is(next, name) {
		return next
	}
	if d.byName != nil {
		if f, ok := d.byName[name]; ok {
			return f
		}
		return -1
	}
	for f, w := range d.words {
		if w == word && d.is(f, name) {
			return f
		}
	}
	return -1
}

// is reports whether a field of the same jsontext.NameWord has the name.
func (d *Decoder) is(field int, name string) bool {
	own := d.schema.Fields[field].Name
	return len(own) == len(name) && (len(name) < 8 || own == name)
}
