package checkpoint

import "slices"

// Join is the schema of a state that has values of both: is, with the fields that was has and is has not marked as gone. It
// has a meaning only if was fits is.
func Join(was, is Schema) Schema {
	switch {
	case was.Root != nil && is.Root != nil:
		j := joiner{made: map[[2]*Shape]*Shape{}}
		return Schema{Root: j.join(was.Root, is.Root), Windows: is.Windows}
	case was.Columns != nil && is.Columns != nil:
		return Schema{Columns: joinColumns(was.Columns, is.Columns), Windows: is.Windows}
	}
	return is
}

type joiner struct{ made map[[2]*Shape]*Shape }

func (j *joiner) join(was, is *Shape) *Shape {
	if made := j.made[[2]*Shape{was, is}]; made != nil {
		return made
	}
	out := *is
	j.made[[2]*Shape{was, is}] = &out
	if is.Kind == ShapePointer {
		out.Elem = j.join(bare(was), is.Elem)
		return &out
	}
	w := bare(was)
	switch {
	case is.Kind == ShapeMap && w.Kind == ShapeMap:
		out.Elem = j.join(w.Elem, is.Elem)
	case (is.Kind == ShapeSlice || is.Kind == ShapeArray) && (w.Kind == ShapeSlice || w.Kind == ShapeArray):
		out.Elem = j.join(w.Elem, is.Elem)
	case is.Kind == ShapeTuple && w.Kind == ShapeTuple && len(is.Fields) == len(w.Fields):
		out.Fields = slices.Clone(is.Fields)
		for i := range out.Fields {
			out.Fields[i].Shape = j.join(w.Fields[i].Shape, is.Fields[i].Shape)
		}
	case is.Kind == ShapeStruct && w.Kind == ShapeStruct:
		out.Fields = slices.Clone(is.Fields)
		for _, f := range w.Fields {
			at := slices.IndexFunc(out.Fields, func(n Field) bool { return n.key() == f.key() })
			if at >= 0 {
				out.Fields[at].Shape = j.join(f.Shape, out.Fields[at].Shape)
				continue
			}
			f.Gone = true
			out.Fields = append(out.Fields, f)
		}
		SortFields(out.Fields)
	}
	return &out
}
