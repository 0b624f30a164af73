package operators

import (
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/checkpoint"
)

type inner struct {
	Shared int8
	Deep   string
	hidden bool //nolint:unused // not encoded
}

type Other struct{ Shared, Twice int64 }

type Third struct{ Twice int64 }

type node struct {
	Name string
	Next *node
	Kids []node
}

type everyField struct {
	inner
	*Other `json:"other"`
	Third
	Plain    int
	Renamed  time.Time      `cbor:"when,omitempty"`
	FromJSON uint16         `json:"from_json"`
	Both     []byte         `cbor:"both" json:"neither"`
	Ignored  string         `cbor:"-"`
	Number   *float32       `cbor:"3,keyasint"`
	Addr     netip.Addr     `cbor:"addr"`
	Any      any            `cbor:"any"`
	Sizes    map[string]int `cbor:"sizes"`
	private  int            //nolint:unused // not encoded
}

func TestSchemaOfAGoType(t *testing.T) {
	for want, got := range map[string]string{
		`cbor {"3" string, =3 *float32, Deep string, Plain int64, Shared int8, Twice int64, addr self("netip.Addr"), any any, both bytes, from_json uint16, other *{Shared int64, Twice int64}, sizes map[string]int64, when time}`: CBOR[struct {
			everyField
			Text string `cbor:"3"`
		}](1).(Described).Schema(),
		`cbor {Kids []#0, Name string, Next *#0}`:    CBOR[node](1).(Described).Schema(),
		`cbor (X int64, y bool)`:                     CBOR[place](1).(Described).Schema(),
		`cbor int64`:                                 CBOR[time.Duration](1).(Described).Schema(),
		`cbor [2]map[int32]bytes[16]`:                CBOR[[2]map[int32][16]byte](1).(Described).Schema(),
		`cbor []self("operators.list")`:              CBOR[list](1).(Described).Schema(),
		`cbor {}`:                                    CBOR[struct{ hidden int }](1).(Described).Schema(),
		`cbor map[string@1]{X int64}`:                mapSchema(CBOR[string](1), CBOR[struct{ X int64 }](2)),
		`cbor int64 in session`:                      schemaOf[int64](typed[int64](nil, "session")),
		`cbor float64 in tumbling(1m0s)`:             schemaOf[pane[float64]](paneCodec[float64]{typed[float64](nil, "tumbling(1m0s)")}),
		`cbor {Key string, Count int64} in session `: "cbor {Key string, Count int64} in session ",
	} {
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

type place struct {
	_ struct{} `cbor:",toarray"`
	X int64
	Y bool `cbor:"y"`
}

type list []list

// The schema has the fields that are really written.
func TestSchemaHasTheFieldsThatAreWritten(t *testing.T) {
	v := everyField{Other: &Other{}, Renamed: time.Unix(1, 0)}
	b, err := cborEncoder.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	written := slices.Collect(maps.Keys(generic(t, b).(map[any]any)))
	s, err := checkpoint.ParseSchema(schemaFor(reflect.TypeFor[everyField]()))
	if err != nil {
		t.Fatal(err)
	}
	if len(written) != len(s.Root.Fields) {
		t.Errorf("%d fields are written, %d described: %v and %s", len(written), len(s.Root.Fields), written, s)
	}
	for _, f := range s.Root.Fields {
		if !slices.Contains(written, nameIn(f)) {
			t.Errorf("field %s is not written: %v", f.Name, written)
		}
	}
}

// What Grows refuses does fail, or loses data.
func TestWhatDoesNotGrowCannotBeRead(t *testing.T) {
	type wide struct{ N int64 }
	for _, c := range []struct {
		name string
		old  any
		now  any
		want string
		// loses: it decodes, to something else.
		loses bool
	}{
		{"text for a number", map[string]any{"N": "12"}, new(wide), "cannot unmarshal", false},
		{"too wide", struct{ N int64 }{1 << 40}, new(struct{ N int32 }), "overflows", false},
		{"sign", struct{ N int64 }{-1}, new(struct{ N uint64 }), "cannot unmarshal", false},
		{"unsigned", struct{ N uint64 }{1 << 63}, new(wide), "overflows", false},
		{"not exact", struct{ N int64 }{1<<53 + 1}, new(struct{ N float64 }), "", true},
		{"fraction", struct{ N float64 }{1.5}, new(wide), "cannot unmarshal", false},
		{"elements", struct{ N []string }{[]string{"a"}}, new(struct{ N []int64 }), "cannot unmarshal", false},
		{"shorter", struct{ N [3]int64 }{[3]int64{1, 2, 3}}, new(struct{ N [2]int64 }), "", true},
		{"bytes", struct{ N []byte }{[]byte{1}}, new(struct{ N string }), "cannot unmarshal", false},
		{"keys", struct{ N map[string]bool }{map[string]bool{"a": true}}, new(struct{ N map[int64]bool }), "cannot unmarshal", false},
		{"array of fields", place{X: 1}, new(struct{ X int64 }), "cannot unmarshal", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			was, is := schemaText(t, reflect.TypeOf(c.old)), schemaText(t, reflect.TypeOf(c.now).Elem())
			if len(checkpoint.Grows(was, is)) == 0 {
				t.Fatalf("%s is said to fit %s", was, is)
			}
			b, err := cborEncoder.Marshal(c.old)
			if err != nil {
				t.Fatal(err)
			}
			err = cborDecoder.Unmarshal(b, c.now)
			if c.loses {
				again, _ := cborEncoder.Marshal(c.now)
				if err == nil && equal(generic(t, b), generic(t, again)) {
					t.Errorf("nothing is lost: %s", diagnose(again))
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// Basic types are read as they grow too: from narrower ones, and from null.
func TestBasicTypesReadWhatTheyGrewFrom(t *testing.T) {
	reads(t, CBOR[int32](1), -5, CBOR[int64](1), -5)
	reads(t, CBOR[uint32](1), 1<<32-1, CBOR[int64](1), 1<<32-1)
	reads(t, CBOR[uint8](1), 7, CBOR[uint64](1), 7)
	reads(t, CBOR[float32](1), 1.5, CBOR[float64](1), 1.5)
	reads(t, CBOR[int16](1), -300, CBOR[float64](1), -300)
	reads(t, CBOR[*int64](1), nil, CBOR[int64](1), 0)
	reads(t, CBOR[*string](1), nil, CBOR[string](1), "")
	reads(t, CBOR[*bool](1), nil, CBOR[bool](1), false)
	yes := true
	reads(t, CBOR[*bool](1), &yes, CBOR[bool](1), true)
	type named string
	reads(t, CBOR[named](1), "x", CBOR[string](1), "x")
	reads(t, CBOR[[3]byte](1), [3]byte{1, 2, 3}, CBOR[[]byte](1), []byte{1, 2, 3})
}

func reads[A, B any](t *testing.T, was Codec[A], old A, is Codec[B], want B) {
	t.Helper()
	if f := checkpoint.CheckSchemas(schemaOf(was), schemaOf(is)); len(f) > 0 {
		t.Errorf("%s does not fit %s: %s", schemaOf(was), schemaOf(is), f)
	}
	b, err := was.Append(nil, old)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := is.Decode(b); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %x is read as %v (%v), want %v", is.Type(), b, got, err, want)
	}
}
