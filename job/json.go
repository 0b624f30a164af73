package job

import (
	"fmt"
	"reflect"

	"github.com/weirstream/weir/internal/jsontext/typed"
	"github.com/weirstream/weir/stream"
)

// JSON makes the decode function of a source whose values are JSON, for a From of the same graph:
//
//	views := job.From(g, "views", source.Kafka(...), job.JSON[View](g))
//
// T is what encoding/json would read into, usually a struct with its tags: json:"name", omitempty, omitzero, string and "-";
// embedded structs; pointers, which null makes nil. What a struct does not name is skipped, though its syntax is checked. A T
// that nothing can be read into (a field that is a channel, or two with one name) is reported by Graph.Validate.
//
// How to read a T is worked out here, once. A record costs no reflection, and no allocation but what its fields need: a
// string without escapes and a json.RawMessage share the record's bytes, which stay valid for as long as something shares
// them (see package stream) and must not be changed. A short string that is kept for long keeps the whole batch in memory
// that it came in: strings.Clone it before.
//
// Read natively are strings, bools, integers, floats, []byte in base64, time.Time, json.RawMessage, and structs, pointers and
// slices of these. Maps, arrays, interfaces, json.Number and types with an UnmarshalJSON or UnmarshalText are left to
// encoding/json, for that value alone. Beyond what it does,
//
//   - names match exactly: "User" does not find the field "user" (what is left to encoding/json is looser);
//   - bytes that are not UTF-8 are kept in a string, not replaced by U+FFFD;
//   - two fields with one name at one depth are a mistake, not silently left out.
//
// As there, null leaves a field as it is, that is, zero, but for a json.RawMessage, which then holds the text null; and the last
// of two members with one name wins. A Kafka null (a tombstone) is an error. An error is one line that names the field, what
// it wants, what it got and at which byte of the value.
func JSON[T any](g *Graph) func(*stream.Record) (T, error) {
	d, mistakes := typed.NewDecoder[T]()
	g.badJSON("JSON", reflect.TypeFor[T](), mistakes)
	return func(rec *stream.Record) (v T, err error) {
		err = d.Decode(rec.Value, &v)
		return v, err
	}
}

// JSONOut makes the encode function that writes values as JSON, for a To of the same graph:
//
//	job.To(counts, "counts", sink.Kafka(...), job.JSONOut[Count](g))
//
// It appends to the record's Value the bytes that encoding/json writes with SetEscapeHTML(false): <, > and & stand as they
// are. It works as JSON does, without reflection but for what JSON leaves to encoding/json. A T that has no JSON is
// reported by Graph.Validate; a value that has none (a NaN) is an error that names the field.
func JSONOut[T any](g *Graph) func(T, *stream.Record) error {
	e, mistakes := typed.NewEncoder[T]()
	g.badJSON("JSONOut", reflect.TypeFor[T](), mistakes)
	return func(v T, rec *stream.Record) (err error) {
		rec.Value, err = e.Append(rec.Value, &v)
		return err
	}
}

func (g *Graph) badJSON(function string, t reflect.Type, mistakes []error) {
	for _, err := range mistakes {
		g.errs = append(g.errs, fmt.Errorf("job %s: %s[%v]: %w", g.name, function, t, err))
	}
}
