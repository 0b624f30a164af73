package typed

import (
	"encoding/json"
	"strings"
	"time"
)

// everything has a field of each kind.
type everything struct {
	S     string             `json:"s"`
	B     bool               `json:"b"`
	I     int                `json:"i"`
	I8    int8               `json:"i8"`
	I16   int16              `json:"i16"`
	I32   int32              `json:"i32"`
	U     uint               `json:"u"`
	U8    uint8              `json:"u8"`
	U16   uint16             `json:"u16"`
	U32   uint32             `json:"u32"`
	F     float64            `json:"f"`
	F32   float32            `json:"f32"`
	Bytes []byte             `json:"bytes"`
	Time  time.Time          `json:"time"`
	Raw   json.RawMessage    `json:"raw"`
	P     *string            `json:"p"`
	PP    **int              `json:"pp"`
	O     inner              `json:"o"`
	PO    *inner             `json:"po"`
	L     []inner            `json:"l"`
	LL    [][]int16          `json:"ll"`
	LP    []*everything      `json:"a long name of a list"`
	M     map[string]inner   `json:"m"`
	A     [2]upper           `json:"a"`
	X     any                `json:"x"`
	N     json.Number        `json:"n"`
	Q     int64              `json:"q,string"`
	QP    *bool              `json:"qp,string"`
	Up    upper              `json:"up"`
	Low   lower              `json:"low"`
	LLow  []lower            `json:"llow"`
	Empty emptied            `json:"empty"`
	Skip  string             `json:"-"`
	Dash  string             `json:"-,"`
	Named myString           `json:"<named>"`
	Ints  map[int]*time.Time `json:"ints"`
	Plain float64
	base
	*Extra
}

type inner struct {
	X int       `json:"x"`
	Y *float32  `json:"y,omitempty"`
	Z []string  `json:"z,omitempty"`
	T time.Time `json:"t,omitzero"`
}

type emptied struct {
	S   string          `json:"s,omitempty"`
	I   int64           `json:"i,omitempty"`
	U   uint8           `json:"u,omitzero"`
	B   bool            `json:"b,omitempty"`
	F   float64         `json:"f,omitempty"`
	F32 float32         `json:"f32,omitzero"`
	L   []int           `json:"l,omitempty"`
	Z   []int           `json:"z,omitzero"`
	M   map[string]bool `json:"m,omitempty"`
	A   [0]int          `json:"a,omitempty"`
	X   any             `json:"x,omitempty"`
	R   json.RawMessage `json:"r,omitempty"`
	T   time.Time       `json:"t,omitempty"`
	O   struct{ V int } `json:"o,omitempty"`
	OZ  struct{ V int } `json:"oz,omitzero"`
	N   never           `json:"n,omitzero"`
	NP  *never          `json:"np,omitzero"`
	W   upper           `json:"w,omitempty"`
}

type base struct {
	ID   string `json:"id"`
	Name string // hidden by Extra.Title, whose name is a tag
}

type Extra struct {
	Title string `json:"Name"`
	Count int
}

type myString string

// upper has methods of a value for both ways.
type upper string

func (u upper) MarshalText() ([]byte, error)  { return []byte(strings.ToUpper(string(u))), nil }
func (u *upper) UnmarshalText(b []byte) error { *u = upper(strings.ToLower(string(b))); return nil }

// lower has a MarshalJSON that is found only where it is addressable.
type lower struct{ V string }

func (l *lower) MarshalJSON() ([]byte, error) { return json.Marshal(strings.ToLower(l.V)) }

// never is zero when it says so.
type never int

func (n *never) IsZero() bool { return *n == 7 }
