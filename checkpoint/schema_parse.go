package checkpoint

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// shapeParser reads the text of shapes. The first mistake stays in err; text is what is still to be read.
type shapeParser struct {
	text    string
	structs []*Shape
	err     error
}

// maxDepth is how deep shapes may be nested: no more than a CBOR decoder reads.
const maxDepth = 64

var scalarKinds = []string{
	ShapeBool, ShapeString, ShapeTime, ShapeBigInt, ShapeAny,
	"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64",
}

func (p *shapeParser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf("before %.20q: %w", p.text, fmt.Errorf(format, args...))
	}
	p.text = ""
}

func (p *shapeParser) take(prefix string) (ok bool) {
	p.text, ok = strings.CutPrefix(p.text, prefix)
	return ok
}

func (p *shapeParser) need(prefix string) {
	if !p.take(prefix) {
		p.fail("want %q", prefix)
	}
}

func (p *shapeParser) next(c byte) bool { return p.text != "" && p.text[0] == c }

func (p *shapeParser) shape(depth int) *Shape {
	if depth > maxDepth {
		p.fail("nested more than %d deep", maxDepth)
		return &Shape{}
	}
	switch {
	case p.take("*"):
		return &Shape{Kind: ShapePointer, Elem: p.shape(depth + 1)}
	case p.take("[]"):
		return &Shape{Kind: ShapeSlice, Elem: p.shape(depth + 1)}
	case p.take("["):
		s := &Shape{Kind: ShapeArray, Len: p.int()}
		p.need("]")
		s.Elem = p.shape(depth + 1)
		return s
	case p.take("bytes"):
		s := &Shape{Kind: ShapeBytes}
		if p.take("[") {
			s.Len = p.int()
			p.need("]")
		}
		return s
	case p.take("self("):
		s := &Shape{Kind: ShapeSelf, Name: p.quoted()}
		p.need(")")
		return s
	case p.take("map["):
		s := &Shape{Kind: ShapeMap, Key: p.shape(depth + 1)}
		if p.take("@") {
			s.KeyVersion = p.int()
		}
		p.need("]")
		s.Elem = p.shape(depth + 1)
		return s
	case p.take("#"):
		if n := p.int(); n < len(p.structs) {
			return p.structs[n]
		}
		p.fail("no such struct")
		return &Shape{}
	case p.next('{'):
		return p.fields(&Shape{Kind: ShapeStruct}, depth)
	case p.next('('):
		return p.fields(&Shape{Kind: ShapeTuple}, depth)
	}
	kind := p.text
	if end := strings.IndexAny(p.text, " ,})]@"); end >= 0 {
		kind = p.text[:end]
	}
	for _, k := range scalarKinds {
		if k == kind {
			p.text = p.text[len(k):]
			return &Shape{Kind: k}
		}
	}
	p.fail("unknown type")
	return &Shape{}
}

func (p *shapeParser) fields(s *Shape, depth int) *Shape {
	p.structs = append(p.structs, s)
	p.need(s.Kind[:1])
	for p.err == nil && !p.take(s.Kind[1:]) {
		if len(s.Fields) > 0 {
			p.need(", ")
		}
		f := Field{Gone: p.take("-"), Number: p.take("=")}
		f.Name = p.name()
		p.need(" ")
		f.Shape = p.shape(depth + 1)
		s.Fields = append(s.Fields, f)
	}
	return s
}

func (p *shapeParser) columns() (out []Column) {
	p.need("{")
	for p.err == nil && !p.take("}") {
		if len(out) > 0 {
			p.need(", ")
		}
		c := Column{Gone: p.take("-")}
		c.Name = p.name()
		if !c.Gone {
			p.need(" ")
			c.Definition = p.quoted()
		}
		out = append(out, c)
	}
	return out
}

func (p *shapeParser) name() string {
	if p.next('"') {
		return p.quoted()
	}
	end := strings.IndexAny(p.text, " ,}")
	if end <= 0 {
		p.fail("want a name")
		return ""
	}
	name := p.text[:end]
	p.text = p.text[end:]
	return name
}

func (p *shapeParser) quoted() string {
	quoted, err := strconv.QuotedPrefix(p.text)
	if err == nil {
		var s string
		if s, err = strconv.Unquote(quoted); err == nil {
			p.text = p.text[len(quoted):]
			return s
		}
	}
	p.fail("want a quoted text: %w", err)
	return ""
}

var errNumber = errors.New("want a number")

func (p *shapeParser) int() int {
	end := 0
	for end < len(p.text) && end < 9 && p.text[end] >= '0' && p.text[end] <= '9' {
		end++
	}
	n, err := strconv.Atoi(p.text[:end])
	if err != nil {
		p.fail("%w", errNumber)
		return 0
	}
	p.text = p.text[end:]
	return n
}
