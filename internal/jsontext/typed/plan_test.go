package typed

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/weirstream/weir/internal/jsontext"
)

type (
	loop   *loop
	mixed1 struct{ ID int }
	mixed2 struct{ ID int }
	tagged struct {
		Other int `json:"ID"`
	}
	node struct {
		Kids []*node
		M    map[string]node
		S    lists
		*node
	}
	lists  []lists
	hidden struct{ Seen int }
)

func TestMistakesNameTheField(t *testing.T) {
	type bad struct {
		C chan int `json:"c"`
		O struct {
			F []func() `json:"f"`
			P *complex128
		} `json:"o"`
		M map[bool]int
		A [2]map[string]chan int
		L loop
	}
	for _, c := range []struct {
		t           reflect.Type
		read, write string // one a line
	}{
		{reflect.TypeFor[bad](), `field "c": chan int: JSON has nothing for it
field "o.f": func(): JSON has nothing for it
field "o.P": complex128: JSON has nothing for it
field "M": map[bool]int: the names of an object cannot be of type bool
field "A": chan int: JSON has nothing for it
field "L": typed.loop: a pointer to itself`, "="},
		{reflect.TypeFor[func()](), "func(): JSON has nothing for it", "="},
		{reflect.StructOf([]reflect.StructField{
			{Name: "A", Type: reflect.TypeFor[int](), Tag: `json:"x"`},
			{Name: "B", Type: reflect.TypeFor[int](), Tag: `json:"x,omitempty"`},
		}), `field "x": two fields have this name: A and B`, "="},
		{reflect.TypeFor[struct {
			mixed1
			mixed2
		}](), `field "ID": two fields have this name: mixed1.ID and mixed2.ID`, "="},
		{reflect.TypeFor[struct {
			mixed1
			mixed2
			tagged
		}](), "", ""},
		{reflect.TypeFor[struct {
			mixed1
			mixed2
			ID string
		}](), "", ""},
		{reflect.TypeFor[struct{ *hidden }](), "embedded *hidden cannot be set: it is not exported", ""},
		{reflect.TypeFor[struct{ E error }](), `field "E": error: an interface with methods cannot be read`, ""},
		{reflect.TypeFor[node](), "embedded *node cannot be set: it is not exported", ""},
		{reflect.TypeFor[everything](), "", ""},
	} {
		want := c.write
		if want == "=" {
			want = c.read
		}
		for _, mode := range []struct {
			write bool
			want  string
		}{{false, c.read}, {true, want}} {
			_, mistakes := plan(c.t, mode.write)
			var got []string
			for _, err := range mistakes {
				got = append(got, err.Error())
			}
			if s := strings.Join(got, "\n"); s != mode.want {
				t.Errorf("%v, write %v:\n%s\nwant\n%s", c.t, mode.write, s, mode.want)
			}
		}
	}
}

// Each name is found and no other one, also among many and if they look alike.
func TestNamesAreFound(t *testing.T) {
	alike := []string{"", "a", "b", "ab", "created_at", "created_by", "created_on", "customer_identity_x", "customer_identity_y", "customer-identity_y", "12345678", "1234567"}
	var many, same []string
	for i := range 400 {
		many = append(many, fmt.Sprintf("field%d", i), fmt.Sprintf("a rather long name %d of a field", i))
		same = append(same, fmt.Sprintf("beginning %03d the end", i)) // its first and last eight bytes are those of others
	}
	for _, list := range [][]string{nil, alike, many, same} {
		var fields []field
		for _, name := range list {
			fields = append(fields, field{name: name})
		}
		var n names
		n.fill(fields)
		for i, name := range list {
			if got := n.find(jsontext.NameWord(name), name); got != i {
				t.Errorf("%q of %d: %d", name, len(list), got)
			}
		}
		for _, name := range []string{"c", "user", "created_to", "beginning 400 the end", "field400", "1234567\x00"} {
			if got := n.find(jsontext.NameWord(name), name); got != -1 {
				t.Errorf("%q of %d: %d, want none", name, len(list), got)
			}
		}
	}
}
