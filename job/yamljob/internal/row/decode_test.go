package row

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/weirstream/weir/internal/jsontext"
	"github.com/weirstream/weir/stream"
)

var allFields = []Field{{Name: "i", Kind: KindInt}, {Name: "f", Kind: KindFloat}, {Name: "s", Kind: KindString}, {Name: "b", Kind: KindBool},
	{Name: "ts", Kind: KindTimestamp}, {Name: "js", Kind: KindJSON}}

// every wants all fields of a schema.
var every = &Wants{Fields: math.MaxInt}

// show decodes a JSON text into a row of fields and writes that as JSON, or the error.
func show(fields []Field, text string) string {
	s := NewSchema(fields)
	r, err := NewJSONDecoder(s, every).Decode(&stream.Record{Value: []byte(text)})
	if err != nil {
		return "bad: " + err.Error()
	}
	return string(NewEncoder(s, false).Append(nil, r))
}

func TestJSONIntoRows(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`{"i":1,"f":2.5,"s":"x","b":true,"ts":1357034400000,"js":[1, {"a":null}]}`,
			`{"i":1,"f":2.5,"s":"x","b":true,"ts":"2013-01-01T10:00:00.000Z","js":[1, {"a":null}]}`},
		{` { "other" : {"i": [5]} , "b" : false , "i" : null } `, `{"i":null,"f":null,"s":null,"b":false,"ts":null,"js":null}`},
		{`{}`, `{"i":null,"f":null,"s":null,"b":null,"ts":null,"js":null}`},
		{`{"js":null}`, `{"i":null,"f":null,"s":null,"b":null,"ts":null,"js":null}`},
		// Integers are exact; a whole number may be written as a fraction.
		{`{"i":9007199254740993,"f":9007199254740993}`, `{"i":9007199254740993,"f":9007199254740992,"s":null,"b":null,"ts":null,"js":null}`},
		{`{"i":-9223372036854775808,"f":-0.0}`, `{"i":-9223372036854775808,"f":-0,"s":null,"b":null,"ts":null,"js":null}`},
		{`{"i":517.0,"f":1e3}`, `{"i":517,"f":1000,"s":null,"b":null,"ts":null,"js":null}`},
		{`{"i":9223372036854775808}`, `bad: field "i": want int, got 9223372036854775808`},
		{`{"i":1.5}`, `bad: field "i": want int, got 1.5`},
		{`{"i":"1"}`, `bad: field "i": want int, got "1"`},
		{`{"f":1e999}`, `bad: field "f": want float, got 1e999`},
		{`{"f":[1, 2]}`, `bad: field "f": want float, got [1, 2]`},
		{`{"s":1}`, `bad: field "s": want string, got 1`},
		{`{"b":0}`, `bad: field "b": want bool, got 0`},
		{`{"s":{"a":"` + strings.Repeat("x", 80) + `"}}`, `bad: field "s": want string, got {"a":"` + strings.Repeat("x", 54) + `...`},
		// Timestamps.
		{`{"ts":"2013-01-01T05:00:00.0009-05:00"}`, `{"i":null,"f":null,"s":null,"b":null,"ts":"2013-01-01T10:00:00.000Z","js":null}`},
		{`{"ts":-1}`, `{"i":null,"f":null,"s":null,"b":null,"ts":"1969-12-31T23:59:59.999Z","js":null}`},
		{`{"ts":"2013-01-01"}`, `bad: field "ts": want timestamp, got "2013-01-01"`},
		{`{"ts":1.5}`, `bad: field "ts": want timestamp, got 1.5`},
		// Names and strings with escapes; the last of two members wins.
		{`{"\u0069":1,"s":"a\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00\ud83dx"}`, `{"i":1,"f":null,"s":"a\"\\/\b\f\n\r\té😀�x","b":null,"ts":null,"js":null}`},
		{`{"i":1,"i":2}`, `{"i":2,"f":null,"s":null,"b":null,"ts":null,"js":null}`},
		{"{\"s\":\"a\xffb\"}", `{"i":null,"f":null,"s":"a\ufffdb","b":null,"ts":null,"js":null}`},
		// What is not JSON.
		{``, `bad: not JSON: it ends too early, after 0 bytes`},
		{`[1]`, `bad: not a JSON object: it begins with '['`},
		{`17`, `bad: not a JSON object: it begins with '1'`},
		{`hello`, `bad: not JSON: unexpected 'h' at byte 0`},
		{`{"i":1`, `bad: not JSON: it ends too early, after 6 bytes`},
		{`{"i":1,}`, `bad: not JSON: unexpected '}' at byte 7`},
		{`{"i":01}`, `bad: not JSON: unexpected '1' at byte 6`},
		{`{"i":+1}`, `bad: not JSON: unexpected '+' at byte 5`},
		{`{"i":1}x`, `bad: not JSON: unexpected 'x' at byte 7`},
		{`{"x":tru}`, `bad: not JSON: unexpected 't' at byte 5`},
		{`{"b":tru}`, `bad: not JSON: unexpected 't' at byte 5`},
		{`{"s":"a` + "\n" + `"}`, `bad: not JSON: unexpected '\n' at byte 7`},
		{`{"s":"\x"}`, `bad: not JSON: unexpected '\\' at byte 6`},
		{`{"x":1.}`, `bad: not JSON: unexpected '}' at byte 7`},
		{`{i:1}`, `bad: not JSON: unexpected 'i' at byte 1`},
	} {
		if got := show(allFields, c.in); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.in, got, c.want)
		}
	}
}

func TestTimestampUnits(t *testing.T) {
	fields := []Field{{"s", KindTimestamp, Seconds}, {"us", KindTimestamp, Micros}, {"ns", KindTimestamp, Nanos}}
	for in, want := range map[string]string{
		`{"s":1357034400,"us":1357034400000999,"ns":1357034400000999999}`: `{"s":"2013-01-01T10:00:00.000Z","us":"2013-01-01T10:00:00.000Z","ns":"2013-01-01T10:00:00.000Z"}`,
		`{"s":1357034400.25,"us":-1,"ns":-1}`:                             `{"s":"2013-01-01T10:00:00.250Z","us":"1969-12-31T23:59:59.999Z","ns":"1969-12-31T23:59:59.999Z"}`,
		`{"s":9223372036854775807}`:                                       `bad: field "s": want timestamp, got 9223372036854775807`,
	} {
		if got := show(fields, in); got != want {
			t.Errorf("%s\n got %s\nwant %s", in, got, want)
		}
	}
}

func TestManyFieldsAreFoundInAnyOrder(t *testing.T) {
	var fields []Field
	for _, c := range "abcdefghijkl" {
		fields = append(fields, Field{Name: string(c), Kind: KindInt})
	}
	got := show(fields, `{"l":12,"zz":0,"a":1,"f":6,"e":5,"y":0}`)
	want := `{"a":1,"b":null,"c":null,"d":null,"e":5,"f":6,"g":null,"h":null,"i":null,"j":null,"k":null,"l":12}`
	if got != want {
		t.Errorf("got %s", got)
	}
}

func TestRecordStaysAvailableBesideItsFields(t *testing.T) {
	wants := &Wants{}
	rec := &stream.Record{Key: []byte("k"), Value: []byte(`{"i":1}`), Topic: "t", Partition: 2, Offset: 9, Timestamp: 5,
		Headers: []stream.Header{{Key: "a", Value: []byte("x\"y")}, {Key: "b"}}}
	s := SourceSchema(allFields[:1], wants)
	at := s.Raw()
	if i, kind, ok := s.Lookup("$offset"); i != at+5 || kind != KindInt || !ok {
		t.Errorf("$offset is at %d, %v, %v", i, kind, ok)
	}
	r, err := NewJSONDecoder(s, wants).Decode(rec)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, v := range r.Values {
		got = append(got, string(AppendValue(nil, v)))
	}
	if s := strings.Join(got, " "); s != `1 "{\"i\":1}" "k" "1970-01-01T00:00:00.005Z" "t" 2 9 {"a":"x\"y","b":null}` {
		t.Errorf("got %s", s)
	}
	if b := r.Values[at].Bytes(); &b[0] != &rec.Value[0] || len(b) != len(rec.Value) {
		t.Error("the value's bytes are not the record's")
	}
	raw, _ := NewRawDecoder(NewSchema(RawFields), new(Wants)).Decode(rec)
	if s := string(NewEncoder(NewSchema(RawFields), true).Append(nil, raw)); s != `{"key":"k","value":"{\"i\":1}","timestamp":5,"topic":"t","partition":2,"offset":9}` {
		t.Errorf("raw: got %s", s)
	}
	null, err := NewJSONDecoder(NewSchema(allFields), &Wants{Raw: true}).Decode(&stream.Record{})
	if err != nil || null.Values[len(allFields)].Bytes() != nil || !null.Values[0].IsNull() {
		t.Errorf("a null value became %v, %v", null, err)
	}
}

func TestFieldsThatNobodyUsesAreCheckedButNotKept(t *testing.T) {
	wants := &Wants{}
	s := SourceSchema(allFields, wants)
	d := NewJSONDecoder(s, wants)
	s.Lookup("f")
	r, err := d.Decode(&stream.Record{Value: []byte(`{"b":true,"s":"x","f":2.5,"i":1}`)})
	if err != nil || len(r.Values) != 2 || !r.Values[0].Equal(Int(1)) || !r.Values[1].Equal(Float(2.5)) {
		t.Errorf("got %v, %v", r.Values, err)
	}
	if _, err = d.Decode(&stream.Record{Value: []byte(`{"i":1,"b":7}`)}); err == nil || err.Error() != `field "b": want bool, got 7` {
		t.Errorf("got %v", err)
	}
	other := &Wants{}
	u, err := s.Union(SourceSchema(allFields, other))
	if err != nil {
		t.Fatal(err)
	}
	NewEncoder(u, false)
	if wants.Fields != len(allFields) || other.Fields != len(allFields) {
		t.Errorf("a union that is written wants %d and %d fields", wants.Fields, other.Fields)
	}
}

func TestValuesKeepTheirKind(t *testing.T) {
	failure := errors.New("overflow")
	for _, c := range []struct {
		v    Value
		kind Kind
		want string
	}{
		{Null, KindNull, "null"}, {Failed(&failure), KindFailed, "null"}, {Bool(false), KindBool, "false"}, {Bool(true), KindBool, "true"},
		{Int(0), KindInt, "0"}, {Int(-1), KindInt, "-1"}, {Int(math.MinInt64), KindInt, "-9223372036854775808"},
		{Float(0), KindFloat, "0"}, {Float(-1.5), KindFloat, "-1.5"}, {String(""), KindString, `""`}, {String("x"), KindString, `"x"`},
		{Timestamp(-1), KindTimestamp, `"1969-12-31T23:59:59.999Z"`}, {JSON(""), KindJSON, ""}, {JSON("[1]"), KindJSON, "[1]"},
	} {
		if got := string(AppendValue(nil, c.v)); c.v.Kind() != c.kind || got != c.want {
			t.Errorf("want %v %s, got %v %s", c.kind, c.want, c.v.Kind(), got)
		}
		if c.v.IsNull() != (c.kind == KindNull) || c.v.Missing() != (c.kind <= KindFailed) || !c.v.Equal(c.v) {
			t.Errorf("%v %s: null %v, missing %v, equal to itself %v", c.kind, c.want, c.v.IsNull(), c.v.Missing(), c.v.Equal(c.v))
		}
	}
	if err := Failed(&failure).Err(); err != failure || Int(1).Err() != nil || String("").Equal(JSON("")) || Int(1).Equal(Timestamp(1)) {
		t.Errorf("a failure is %v", err)
	}
	if b := String("").Bytes(); b == nil || len(b) > 0 || Null.Bytes() != nil || string(String("ab").Bytes()) != "ab" {
		t.Errorf("the bytes of an empty string are %v", b)
	}
}

// encoding/json is the oracle: what is JSON, and what it holds.
func FuzzDecodeAgreesWithEncodingJSON(f *testing.F) {
	for _, s := range []string{`{"i":1,"f":2.5,"s":"x","b":true,"js":[1,{"a":null}]}`, `{"s":"a\"\\\/\b\u00e9\ud83d\ude00\ud83dx"}`,
		`{"i":-9223372036854775808,"f":1e-7}`, `{"x":[[[{}]]],"s":"plain text that is long"}`, `[1]`, `{"a":01}`, "{\"s\":\"\xff\"}", `{"f":1.}`, `{"s":null}`, `{`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		fields := []Field{{Name: "i", Kind: KindInt}, {Name: "f", Kind: KindFloat}, {Name: "s", Kind: KindString}, {Name: "b", Kind: KindBool}, {Name: "js", Kind: KindJSON}}
		r, err := NewJSONDecoder(NewSchema(fields), every).Decode(&stream.Record{Value: []byte(text)})
		valid := json.Valid([]byte(text))
		if err == nil && !valid {
			t.Fatalf("%q is not JSON but was taken", text)
		}
		if err != nil && strings.HasPrefix(err.Error(), "not JSON:") && valid {
			t.Fatalf("%q is JSON but was refused: %v", text, err)
		}
		if err != nil {
			return
		}
		var want map[string]json.RawMessage
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		for i, field := range fields {
			compare(t, field, r.Values[i], want[field.Name])
		}
		out := NewEncoder(NewSchema(fields), false).Append(nil, r)
		again, err := NewJSONDecoder(NewSchema(fields), every).Decode(&stream.Record{Value: out})
		if err != nil || !json.Valid(out) {
			t.Fatalf("%q was written as %q: %v", text, out, err)
		}
		for i := range fields {
			if a, b := r.Values[i], again.Values[i]; !a.Equal(b) && !(a.Kind() == KindString && !utf8.ValidString(a.Str())) {
				t.Fatalf("%q came back as %q", text, out)
			}
		}
	})
}

func compare(t *testing.T, f Field, got Value, want json.RawMessage) {
	t.Helper()
	if len(want) == 0 || string(want) == "null" {
		if !got.IsNull() {
			t.Fatalf("field %s is %v, want null", f.Name, got)
		}
		return
	}
	switch f.Kind {
	case KindString:
		var s string
		if err := json.Unmarshal(want, &s); err != nil || s != strings.ToValidUTF8(got.Str(), "\ufffd") && utf8.ValidString(got.Str()) {
			t.Fatalf("field %s is %q, want %q (%v)", f.Name, got.Str(), s, err)
		}
	case KindFloat:
		var x float64
		if err := json.Unmarshal(want, &x); err != nil || math.Float64bits(x) != math.Float64bits(got.Float()) {
			t.Fatalf("field %s is %v, want %v (%v)", f.Name, got.Float(), x, err)
		}
		if b, _ := json.Marshal(x); !bytes.Equal(b, jsontext.AppendFloat(nil, x)) {
			t.Fatalf("%v is written as %s, want %s", x, jsontext.AppendFloat(nil, x), b)
		}
	case KindJSON:
		if !bytes.Equal(want, []byte(got.Str())) {
			t.Fatalf("field %s is %q, want %q", f.Name, got.Str(), want)
		}
	}
}
