package typed

import (
	"fmt"
	"strings"
)

// problem is a value that does not fit. It becomes an error at the end, when its whole path is known.
type problem struct {
	path string
	// what is the whole sentence if there is one; else wanted, got and at say what it is.
	what        string
	wanted, got string
	at          int
}

func (p *problem) err() error {
	what := p.what
	if what == "" {
		what = fmt.Sprintf("want %s, got %s at byte %d", p.wanted, p.got, p.at)
	}
	if p.path == "" {
		return fmt.Errorf("%s", what)
	}
	return fmt.Errorf("field %q: %s", p.path, what)
}

// in adds a step to the path: a field's name, or an element's index in brackets.
func (p *problem) in(step string) *problem {
	p.path = join(step, p.path)
	return p
}

// join puts a step before a path.
func join(step, path string) string {
	if step == "" || path == "" || strings.HasPrefix(path, "[") {
		return step + path
	}
	return step + "." + path
}

// mismatch is the problem that the value s[i:end] is not what v wants.
func (v *value) mismatch(s string, i, end int) *problem {
	got := s[i:end]
	if len(got) > 60 {
		got = got[:60] + "..."
	}
	return &problem{wanted: v.wanted(), got: got, at: i}
}

func (v *value) wanted() string {
	switch v.kind {
	case kindBool:
		return "true or false"
	case kindString:
		return "a string"
	case kindBytes:
		return "a string of base64"
	case kindTime:
		return "a time as in RFC 3339"
	case kindPointer:
		return v.elem.wanted()
	case kindObject:
		return fmt.Sprintf("an object (%v)", v.typ)
	case kindSlice:
		return fmt.Sprintf("an array (%v)", v.typ)
	}
	return v.typ.String()
}
