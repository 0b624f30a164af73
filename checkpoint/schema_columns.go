package checkpoint

import "slices"

// columns compares the last set of columns that values were written with and the job's.
func (g *grower) columns(was, is Schema) {
	now := is.Columns[len(is.Columns)-1]
	for _, c := range was.Columns[len(was.Columns)-1] {
		i := slices.IndexFunc(now, func(n Column) bool { return n.Name == c.Name })
		switch {
		case c.Gone || i >= 0 && now[i] == c:
		case i < 0:
			g.out = append(g.out, "column "+c.Name+" is not there any more: was it renamed? (drop: ["+c.Name+"] in the step gives it up)")
		case !now[i].Gone:
			g.out = append(g.out, "column "+c.Name+": was "+c.Definition+", is "+now[i].Definition+": give it another name")
		}
	}
}

// joinColumns adds the job's set of columns to those that values were written with, unless it is the last of them.
func joinColumns(was, is [][]Column) [][]Column {
	if len(is) > len(was) && slices.EqualFunc(was, is[:len(was)], slices.Equal[[]Column]) {
		return is // joined already
	}
	now := is[len(is)-1]
	if sameColumns(was[len(was)-1], now) {
		return was
	}
	return append(slices.Clone(was), now)
}

// sameColumns compares what is not gone.
func sameColumns(a, b []Column) bool { return slices.Equal(present(a), present(b)) }

func present(columns []Column) (out []Column) {
	for _, c := range columns {
		if !c.Gone {
			out = append(out, c)
		}
	}
	return out
}

// Lost lists the fields and columns that values written as was have and is has not, by their paths: their data goes when
// an entry is written next. Those that were lost before are not listed.
func Lost(was, is Schema) []string {
	l := loss{seen: map[[2]*Shape]bool{}}
	switch {
	case was.Root != nil && is.Root != nil:
		l.of("", was.Root, is.Root)
	case was.Columns != nil && is.Columns != nil:
		now := present(is.Columns[len(is.Columns)-1])
		for _, c := range present(was.Columns[len(was.Columns)-1]) {
			if !slices.ContainsFunc(now, func(n Column) bool { return n.Name == c.Name }) {
				l.out = append(l.out, c.Name)
			}
		}
	}
	return l.out
}

type loss struct {
	seen map[[2]*Shape]bool
	out  []string
}

func (l *loss) of(at string, was, is *Shape) {
	was, is = bare(was), bare(is)
	if l.seen[[2]*Shape{was, is}] {
		return
	}
	l.seen[[2]*Shape{was, is}] = true
	switch {
	case was.Kind == ShapeMap && is.Kind == ShapeMap:
		l.of(at+"{}", was.Elem, is.Elem)
	case was.Elem != nil && is.Elem != nil:
		l.of(at+"[]", was.Elem, is.Elem)
	case was.Kind == ShapeTuple && is.Kind == ShapeTuple:
		for i := range min(len(was.Fields), len(is.Fields)) {
			l.of(join(at, is.Fields[i].Name), was.Fields[i].Shape, is.Fields[i].Shape)
		}
	case was.Kind == ShapeStruct && is.Kind == ShapeStruct:
		for _, f := range was.Fields {
			if n := match(is, f); n != nil {
				l.of(join(at, n.Name), f.Shape, n.Shape)
			} else if !f.Gone {
				l.out = append(l.out, join(at, f.Name))
			}
		}
	}
}
