package checkpoint

import (
	"fmt"
	"slices"
	"strings"
)

// Grows says what of the values that were written as was cannot be read as is, field by field; nothing if all of them can
// be, and what both have is kept. What fits: a field that is new (older values have its zero value) or gone (see [Lost]), a
// number that is wider and takes every value exactly, a pointer in place of a value and the other way round (null is the
// zero value), a longer array or a slice in place of an array. Names of Go types do not count, but for types that encode
// themselves. Field names are matched as the decoder does it, to the letter: nobody can tell a renaming from a field that came later
// and means something else. One that is gone while another, which differs in case only, is new does not fit.
func Grows(was, is Schema) []string {
	g := grower{seen: map[[2]*Shape]bool{}}
	switch {
	case !was.known() && !is.known() && was.text == is.text:
	case was.Root != nil && is.Root != nil:
		g.grow("", was.Root, is.Root)
	case was.Columns != nil && is.Columns != nil:
		g.columns(was, is)
	default:
		g.add("", "was %s, is %s", was, is)
	}
	if was.Windows != is.Windows {
		g.add("", "was in %s, is in %s", orNone(was.Windows), orNone(is.Windows))
	}
	return g.out
}

func orNone(windows string) string {
	if windows == "" {
		return "no windows"
	}
	return windows
}

type grower struct {
	seen map[[2]*Shape]bool
	out  []string
}

func (g *grower) add(at, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if at != "" {
		text = "field " + at + ": " + text
	}
	g.out = append(g.out, text)
}

func (g *grower) grow(at string, was, is *Shape) {
	if g.seen[[2]*Shape{was, is}] {
		return
	}
	g.seen[[2]*Shape{was, is}] = true
	mayBeNull := was.Kind == ShapePointer
	w, i := bare(was), bare(is)
	wrong := func(why string) { g.add(at, "was %s, is %s%s", brief(was), brief(is), why) }
	switch {
	case w.Kind == ShapeSelf && (i.Kind != ShapeSelf || w.Name != i.Name) || w.Kind != ShapeSelf && i.Kind == ShapeSelf:
		wrong(": a type that encodes itself fits only itself")
	case w.Kind == ShapeSelf && mayBeNull && is.Kind != ShapePointer:
		wrong(": it may be null")
	case w.Kind == i.Kind:
		g.same(at, w, i, wrong)
	case w.Kind == ShapeArray && i.Kind == ShapeSlice:
		g.grow(at+"[]", w.Elem, i.Elem)
	default:
		if ok, why := widens(w.Kind, i.Kind); !ok {
			wrong(why)
		}
	}
}

// same compares two shapes of one kind.
func (g *grower) same(at string, was, is *Shape, wrong func(why string)) {
	switch was.Kind {
	case ShapeBytes:
		if is.Len > 0 && was.Len == 0 || is.Len > 0 && was.Len > is.Len {
			wrong(": values may be longer")
		}
	case ShapeSlice:
		g.grow(at+"[]", was.Elem, is.Elem)
	case ShapeArray:
		if was.Len > is.Len {
			wrong(": it is shorter")
		}
		g.grow(at+"[]", was.Elem, is.Elem)
	case ShapeMap:
		if why := keysGrow(was, is); why != "" {
			wrong(why)
		}
		g.grow(at+"{}", was.Elem, is.Elem)
	case ShapeTuple:
		if len(was.Fields) != len(is.Fields) {
			wrong(fmt.Sprintf(": an array of %d fields is read only as one of %d", len(was.Fields), len(was.Fields)))
			return
		}
		for i, f := range was.Fields {
			n := is.Fields[i]
			if f.Name != n.Name && slices.ContainsFunc(is.Fields, func(o Field) bool { return o.Name == f.Name }) {
				g.add(join(at, f.Name), "stood at place %d, where %s is now", i+1, n.Name)
			}
			g.grow(join(at, n.Name), f.Shape, n.Shape)
		}
	case ShapeStruct:
		g.fields(at, was, is)
	}
}

// fields compares structs.
func (g *grower) fields(at string, was, is *Shape) {
	for _, f := range was.Fields {
		n := match(is, f)
		if n == nil {
			if other := renamed(was, is, f); other != "" {
				g.add(join(at, f.Name), "is %s now, which differs in case only, and is read to the letter: keep its name (the tag cbor:%q), or give the new field another one", other, f.Name)
			}
			continue
		}
		before := len(g.out)
		g.grow(join(at, n.Name), f.Shape, n.Shape)
		for i := range g.out[before:] {
			if f.Gone {
				g.out[before+i] += " (it was removed since, but older values have it)"
			}
		}
	}
}

// match finds the field that the values of f are read into, nil if there is none.
func match(is *Shape, f Field) *Field {
	for i := range is.Fields {
		if n := &is.Fields[i]; !n.Gone && n.key() == f.key() {
			return n
		}
	}
	return nil
}

// renamed is the name of a new field that differs in case only from f, which is gone; "" if there is none. Most likely it is
// the same one, whose data would be lost.
func renamed(was, is *Shape, f Field) string {
	if f.Gone || f.Number {
		return ""
	}
	for _, n := range is.Fields {
		if !n.Gone && !n.Number && strings.EqualFold(n.Name, f.Name) && match(was, n) == nil {
			return n.Name
		}
	}
	return ""
}

func join(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}

// bare is the shape of what a pointer points to.
func bare(s *Shape) *Shape {
	for s.Kind == ShapePointer {
		s = s.Elem
	}
	return s
}

// brief is a shape in a few words.
func brief(s *Shape) string {
	text := s.String()
	if len(text) <= 40 {
		return text
	}
	switch s.Kind {
	case ShapeStruct, ShapeTuple:
		return "a struct"
	case ShapeMap:
		return "a map of " + brief(s.Elem)
	case ShapePointer, ShapeSlice, ShapeArray:
		return strings.TrimSuffix(text, s.Elem.String()) + brief(s.Elem)
	}
	return text
}
