package savepoint

import (
	"encoding/binary"
	"encoding/hex"
	"regexp"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize/english"
	"github.com/fxamacker/cbor/v2"

	"github.com/weirstream/weir/checkpoint"
)

// What is in a state's entries, for people (docs/formats/state-keys.md). What is not known, or not as it should be, is shown
// as bytes: this looks at savepoints of other versions and of other people's codecs.

// Text is an entry in words.
type Text struct {
	// Namespace is "" for states that have one entry a key.
	Namespace string `json:"namespace,omitempty"`
	Value     string `json:"value"`
}

// decoder knows one state.
type decoder struct {
	kind string
	// typ is that of the value, mapKey that of the namespace of a map.
	typ, mapKey string
	// columns are the names and definitions of aggregates, one list for each set that values were written with; nil if there
	// are no names.
	columns [][]checkpoint.Column
	// window is what the namespace is the start of: "tumbling", "hopping", "session"; "" for a plain number.
	window string
}

var mapType = regexp.MustCompile(`^map of (.*?) \(version \d+\) to (.*)$`)

var windowType = regexp.MustCompile(`^(.*) in (tumbling|hopping|session)(\(.*)?$`)

func newDecoder(st checkpoint.State) decoder {
	d := decoder{kind: st.Kind, typ: st.Type}
	if s, err := checkpoint.ParseSchema(st.Schema); err == nil {
		d.columns = s.Columns
	}
	switch st.Kind {
	case "map":
		if m := mapType.FindStringSubmatch(st.Type); m != nil {
			d.mapKey, d.typ = m[1], m[2]
		}
	case "window":
		if m := windowType.FindStringSubmatch(st.Type); m != nil {
			d.typ, d.window = m[1], m[2]
		}
	}
	return d
}

// text puts an entry into words.
func (d decoder) text(namespace, value []byte) Text {
	return Text{d.namespace(namespace), d.value(value)}
}

func (d decoder) namespace(b []byte) string {
	switch {
	case d.kind == "value" && len(b) == 0:
		return ""
	case d.kind == "window" && len(b) == 8 && d.window != "":
		return checkpoint.TimeText(number(b))
	case d.kind == "window" && len(b) == 8:
		return strconv.FormatInt(number(b), 10)
	case d.kind == "list" && len(b) == 8:
		return strconv.FormatUint(binary.BigEndian.Uint64(b), 10)
	case d.kind == "map":
		return d.typed(d.mapKey, b)
	case d.kind == "timers" && len(b) == 16:
		due, of := number(b), number(b[8:])
		if due == of {
			return checkpoint.TimeText(due)
		}
		return checkpoint.TimeText(due) + " of " + checkpoint.TimeText(of)
	}
	return bytesText(b)
}

func (d decoder) value(b []byte) string {
	if d.kind == "timers" && len(b) == 0 {
		return ""
	}
	if d.window == "" {
		return d.typed(d.typ, b)
	}
	rest, notes := b, ""
	if d.window == "session" && len(rest) >= 8 {
		notes = ", ends " + checkpoint.TimeText(int64(binary.BigEndian.Uint64(rest)))
		rest = rest[8:]
	}
	if len(rest) == 0 || rest[0] > 1 || d.window == "session" && notes == "" {
		return bytesText(b)
	}
	if rest[0] == 1 {
		notes += ", has fired"
	}
	return d.typed(d.typ, rest[1:]) + notes
}

// typed puts what a codec has written into words.
func (d decoder) typed(typ string, b []byte) string {
	switch {
	case strings.HasPrefix(typ, "cbor:"):
		if s, err := cbor.Diagnose(b); err == nil {
			return s
		}
	default:
		if s, ok := aggregates(typ, d.columns, b); ok {
			return s
		}
	}
	return bytesText(b)
}

func bytesText(b []byte) string {
	return english.Plural(len(b), "byte", "") + ": h'" + hex.EncodeToString(b) + "'"
}

// number is a signed number whose bytes sort as numbers do.
func number(b []byte) int64 { return int64(binary.BigEndian.Uint64(b) ^ 1<<63) }
