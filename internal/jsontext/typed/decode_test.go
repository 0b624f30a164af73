package typed

import (
	"encoding/json"
	"reflect"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"
	"unsafe"
)

// show decodes a text and writes with encoding/json what became of it, or the error.
func show[T any](t *testing.T, text string) string {
	t.Helper()
	d := decoderOf[T](t)
	var v T
	if err := d.Decode([]byte(text), &v); err != nil {
		return "bad: " + err.Error()
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestErrorsNameTheField(t *testing.T) {
	type item struct {
		Price float64 `json:"price"`
		Tags  map[string]int
	}
	type order struct {
		ID    string `json:"id"`
		Count int8   `json:"count"`
		Flag  *bool
		U     uint16
		Items []item `json:"items"`
		First item   `json:"first"`
		B     []byte
		F     float32
	}
	for _, c := range []struct{ in, want string }{
		{``, `not JSON: it ends too early, after 0 bytes`},
		{` [1]`, `want an object (typed.order), got [1] at byte 1`},
		{`"x"`, `want an object (typed.order), got "x" at byte 0`},
		{`hello`, `not JSON: unexpected 'h' at byte 0`},
		{`{"id":"x"`, `not JSON: it ends too early, after 9 bytes`},
		{`{"id":"x"} 1`, `not JSON: unexpected '1' at byte 11`},
		{`{"id":"x",}`, `not JSON: unexpected '}' at byte 10`},
		{`{"id" "x"}`, `not JSON: unexpected '"' at byte 6`},
		{`{id:"x"}`, `not JSON: unexpected 'i' at byte 1`},
		{`{"other":tru}`, `not JSON: unexpected 't' at byte 9`},
		{`{"id":17}`, `field "id": want a string, got 17 at byte 6`},
		{`{"count":128}`, `field "count": want int8, got 128 at byte 9`},
		{`{"count":-129}`, `field "count": want int8, got -129 at byte 9`},
		{`{"count":1.0}`, `field "count": want int8, got 1.0 at byte 9`},
		{`{"count":01}`, `not JSON: unexpected '1' at byte 10`},
		{`{"count":"1"}`, `field "count": want int8, got "1" at byte 9`},
		{`{"Flag":"` + strings.Repeat("x", 80) + `"}`, `field "Flag": want true or false, got "` + strings.Repeat("x", 59) + `... at byte 8`},
		{`{"U":-1}`, `field "U": want uint16, got -1 at byte 5`},
		{`{"U":65536}`, `field "U": want uint16, got 65536 at byte 5`},
		{`{"items":{}}`, `field "items": want an array ([]typed.item), got {} at byte 9`},
		{`{"items":[{},{"price":true}]}`, `field "items[1].price": want float64, got true at byte 22`},
		{`{"first":{"price":1e999}}`, `field "first.price": want float64, got 1e999 at byte 18`},
		{`{"first":{"Tags":{"a":"b"}}}`, `field "first.Tags": want map[string]int, got {"a":"b"} at byte 17`},
		{`{"first":{"Tags":{"a":}}}`, `not JSON: unexpected '}' at byte 22`},
		{`{"B":"not base64"}`, `field "B": want a string of base64, got "not base64" at byte 5`},
		{`{"B":[1,256]}`, `field "B[1]": want uint8, got 256 at byte 8`},
		{`{"F":1e39}`, `field "F": want float32, got 1e39 at byte 5`},
	} {
		if got := show[order](t, c.in); got != "bad: "+c.want {
			t.Errorf("%s\n got %s\nwant bad: %s", c.in, got, c.want)
		}
	}
	d, _ := NewDecoder[order]()
	if err := d.Decode(nil, new(order)); err != errNoText {
		t.Errorf("a tombstone: %v", err)
	}
}

var texts = []string{
	`{}`, `null`, ` { } `,
	`{"s":"plain","b":true,"i":-5,"i8":-128,"i16":32767,"i32":-2147483648,"u":18446744073709551615,"u8":255,"u16":0,"u32":4294967295,"f":1.5,"f32":0.1}`,
	`{"i":9223372036854775807,"u":10000000000000000000,"f":123456789012345678,"f32":16777217}`,
	`{"i":-9223372036854775808,"f":-0,"f32":-0.0,"u":0,"Plain":1e-7}`, `{"i":9223372036854775808}`, `{"u":18446744073709551616}`, `{"i":-0,"u":-0}`,
	`{"s":"a\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00\ud83dx","\u0069":3, "i8" : 4 ,"other":{"s":[1,"]"]}}`,
	`{"bytes":"aGVsbG8=","time":"2013-01-01T05:00:00.0009-05:00","raw": {"a" : [1, 2]} ,"p":"x","pp":5}`, `{"bytes":[1,2,255],"raw":null,"time":null}`,
	`{"bytes":"aGVs\nbG8=","bytes":""}`, `{"time":"2013-01-01"}`, `{"time":5}`, `{"bytes":"?"}`,
	`{"o":{"x":1,"y":2.5,"z":["a","b"],"t":"2020-02-02T02:02:02Z"},"po":{"x":2},"l":[{"x":1},null,{"x":3}],"ll":[[1,2],[],null,[3,4,5,6,7,8,9,10]]}`,
	`{"l":[{"x":1,"z":["q"]},{"x":2}],"l":[{"z":[]}],"l":[{},{}],"o":{"x":1},"o":{"y":2},"m":{"a":{"x":1}},"m":{"b":{}}}`,
	`{"a long name of a list":[{"s":"deep","a long name of a list":[]},null],"m":null,"l":null,"po":null,"p":null,"pp":null}`,
	`{"a":["A","B"],"a":["c"],"x":{"k":[1,"v",null,true]},"n":12.50,"q":"17","qp":"true","up":"UP","low":{"V":"Low"},"llow":[{"V":"Low"}]}`,
	`{"q":17}`, `{"q":"x"}`, `{"q":null,"qp":null,"n":"5","x":null}`, `{"n":"x"}`, `{"a":[1]}`, `{"low":5}`, `{"up":5}`, `{"ints":{"5":"2020-02-02T02:02:02Z","-6":null}}`,
	`{"empty":{"s":"x","i":1,"u":1,"b":true,"f":0.5,"l":[],"z":[],"m":{},"x":0,"r":1,"o":{"V":1},"oz":{},"n":7,"np":7,"w":"w"}}`,
	`{"empty":{"f":-0.0,"f32":-0.0,"z":[1],"oz":{"V":2},"n":0,"np":1}}`,
	`{"-":"dash","<named>":"n","Plain":5,"id":"base","Name":"title","Count":9}`, `{"Name":null}`, `{"Skip":"s"}`,
	`{"s":1}`, `{"b":"true"}`, `{"i8":128}`, `{"u8":-1}`, `{"f":"1"}`, `{"o":[]}`, `{"l":{}}`, `{"p":1}`, `{"pp":"x"}`, `{"l":[{"x":"1"}]}`, `{"m":[]}`, `[]`, `1`, `"s"`,
	`{"s":"a}`, `{"s":tru}`, `{"b":tru}`, `{"b":nul}`, `{"x":nul}`, `{"l":[1,]}`, `{"l":[`, `{"o":{"x":1}`, `{"i":+1}`, `{"i":1.}`, `{"f":.5}`, `{"s":"\x"}`, "{\"s\":\"\x01\"}",
}

func TestValuesAreReadAsEncodingJSONDoes(t *testing.T) {
	for _, text := range texts {
		agree[everything](t, text)
		agree[*everything](t, text)
		agree[map[string]any](t, text)
		agree[json.RawMessage](t, text)
		agree[[]string](t, text)
	}
	deep := strings.Repeat(`{"a long name of a list":[`, 4999) + `{"l":[%]}` + strings.Repeat(`]}`, 4999)
	for _, in := range []string{``, `{}`, `{"z":[]}`, `{"x":{"z":[]}}`} {
		agree[everything](t, strings.Replace(deep, "%", in, 1))
	}
}

func FuzzValuesAreReadAsEncodingJSONDoes(f *testing.F) {
	for _, s := range texts {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) { agree[everything](t, text) })
}

// agree checks that encoding/json reads the same, or refuses as well.
func agree[T any](t *testing.T, text string) {
	t.Helper()
	if foldsIntoName(text) {
		return
	}
	d := decoderOf[T](t)
	var got, want T
	err, oracle := d.Decode([]byte(text), &got), json.Unmarshal([]byte(text), &want)
	valid := json.Valid([]byte(text))
	if len(text) > 500 {
		text = text[:500] + "..."
	}
	if (err == nil) != (oracle == nil) {
		t.Fatalf("%s: %v; encoding/json: %v", text, err, oracle)
	}
	if err == nil && utf8.ValidString(text) && !reflect.DeepEqual(got, want) {
		t.Fatalf("%s\n got %+v\nwant %+v", text, got, want)
	}
	if err != nil && strings.HasPrefix(err.Error(), "not JSON:") && valid {
		t.Fatalf("%s is JSON: %v", text, err)
	}
}

var decoders sync.Map // one a type

func decoderOf[T any](t *testing.T) Decoder[T] {
	t.Helper()
	d, ok := decoders.Load(reflect.TypeFor[T]())
	if !ok {
		made, mistakes := NewDecoder[T]()
		if mistakes != nil {
			t.Fatal(mistakes)
		}
		d, _ = decoders.LoadOrStore(reflect.TypeFor[T](), made)
	}
	return d.(Decoder[T])
}

// namesOfFields are those of the structs in everything.
var namesOfFields = sync.OnceValue(func() (names []string) {
	for _, t := range []reflect.Type{reflect.TypeFor[everything](), reflect.TypeFor[inner](), reflect.TypeFor[emptied](), reflect.TypeFor[lower]()} {
		v, _ := plan(t, false)
		for _, f := range v.object.fields {
			names = append(names, f.name)
		}
	}
	return names
})

// foldsIntoName reports whether a string of the text is nearly a field's name: encoding/json would take it for the name.
func foldsIntoName(text string) bool {
	d := json.NewDecoder(strings.NewReader(text))
	for {
		token, err := d.Token()
		if err != nil {
			return false
		}
		s, ok := token.(string)
		for _, name := range namesOfFields() {
			if ok && s != name && strings.EqualFold(s, name) {
				return true
			}
		}
	}
}

func TestNamesMatchExactly(t *testing.T) {
	if got := show[event](t, `{"User":"x","USER":"y","user ":"z","ts":1}`); got != `{"user":"","amount":0,"ts":1}` {
		t.Errorf("got %s", got)
	}
}

func TestWhatSharesBytesHasNoRoomBehindIt(t *testing.T) {
	type shared struct {
		S string
		R json.RawMessage
	}
	text := []byte("{\"S\":\"plain \xff\",\"R\":[1]}")
	d, _ := NewDecoder[shared]()
	var v shared
	if err := d.Decode(text, &v); err != nil {
		t.Fatal(err)
	}
	if v.S != "plain \xff" || unsafe.StringData(v.S) != &text[6] {
		t.Errorf("the string %q does not share the text", v.S)
	}
	if string(v.R) != "[1]" || &v.R[0] != &text[19] || cap(v.R) != 3 {
		t.Errorf("the raw message %q (room for %d) does not share the text", v.R, cap(v.R))
	}
}
