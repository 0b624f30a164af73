package typed

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"
)

// written is what encoding/json writes without the escapes of HTML.
func written(v any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return strings.TrimSuffix(b.String(), "\n"), err
}

// agreeOnOutput checks that encoding/json writes the same, or refuses as well.
func agreeOnOutput[T any](t *testing.T, v T) {
	t.Helper()
	e, mistakes := NewEncoder[T]()
	if mistakes != nil {
		t.Fatal(mistakes)
	}
	got, err := e.Append([]byte("before "), &v)
	want, oracle := written(v)
	if (err == nil) != (oracle == nil) {
		t.Fatalf("%+v: %v; encoding/json: %v", v, err, oracle)
	}
	if err != nil {
		want = ""
	}
	if string(got) != "before "+want {
		t.Fatalf("%+v\n got %s\nwant %s", v, got, want)
	}
}

func TestValuesAreWrittenAsEncodingJSONDoes(t *testing.T) {
	for _, text := range texts {
		var v everything
		if json.Unmarshal([]byte(text), &v) == nil {
			agreeOnOutput(t, v)
			agreeOnOutput(t, &v)
			agreeOnOutput(t, []everything{v, {}})
			agreeOnOutput(t, map[string]everything{"b": v, "a": {}})
			agreeOnOutput(t, v.Empty)
		}
	}
	for _, raw := range []string{"", "{", " [1 , \"a b\" ] ", "<>"} {
		agreeOnOutput(t, everything{Raw: json.RawMessage(raw)})
	}
	agreeOnOutput(t, []float64{0, math.Copysign(0, -1), 1e21, 1e-7, math.MaxFloat64, 0.1})
	agreeOnOutput(t, []float32{0, 0.1, 1e21, 1e-7, math.MaxFloat32})
	agreeOnOutput(t, []string{"<a href=\"x\">&</a>", "\u2028 \xff \b\f\n\x00", "é"})
	agreeOnOutput(t, map[string]any{"<": "&", "a": []any{1, nil}})
	agreeOnOutput(t, emptied{F: math.Copysign(0, -1), F32: float32(math.Copysign(0, -1)), Z: []int{}, R: json.RawMessage{}})
	agreeOnOutput(t, time.Date(2020, 1, 2, 3, 4, 5, 6, time.FixedZone("", 3600)))
	agreeOnOutput(t, struct{}{})
	agreeOnOutput[any](t, nil)
	agreeOnOutput(t, lower{"Low"})
	agreeOnOutput(t, &lower{"Low"})
	agreeOnOutput(t, struct {
		upper
		*Extra
		base `json:"base"`
		E    error
	}{upper: "not exported"})
}

func FuzzValuesAreWrittenAsEncodingJSONDoes(f *testing.F) {
	for i, s := range texts {
		f.Add(s, s, float64(i)/3)
	}
	f.Fuzz(func(t *testing.T, text, s string, x float64) {
		var v everything
		if json.Unmarshal([]byte(text), &v) != nil {
			v = everything{}
		}
		v.S, v.Named, v.F, v.F32, v.Bytes, v.Empty.S, v.Empty.F = s, myString(s), x, float32(x), []byte(s), s, x
		agreeOnOutput(t, v)
	})
}

func TestWhatHasNoJSONIsAnError(t *testing.T) {
	type item struct {
		F float32
		T time.Time
	}
	type order struct {
		Items []item `json:"items"`
		M     map[string]float64
		R     json.RawMessage
	}
	e, _ := NewEncoder[order]()
	for _, c := range []struct {
		v    order
		want string
	}{
		{order{Items: []item{{}, {F: float32(math.Inf(-1))}}}, `field "items[1].F": JSON has no number for -Inf`},
		{order{Items: []item{{T: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}}}, `field "items[0].T": RFC 3339 has no text for 10000-01-01 00:00:00 +0000 UTC`},
		{order{M: map[string]float64{"x": math.NaN()}}, `field "M": json: unsupported value: NaN`},
		{order{R: json.RawMessage("{")}, `field "R": not JSON: it ends too early, after 1 bytes`},
	} {
		b, err := e.Append([]byte("before"), &c.v)
		if err == nil || err.Error() != c.want || string(b) != "before" {
			t.Errorf("%+v: %s, %v; want %s", c.v, b, err, c.want)
		}
	}
	type node struct{ Next *node }
	var n node
	n.Next = &n
	cycle, _ := NewEncoder[node]()
	if _, err := cycle.Append(nil, &n); err == nil || err.Error() != tooDeep.what {
		t.Errorf("a node that contains itself: %v", err)
	}
}
