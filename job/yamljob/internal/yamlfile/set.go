package yamlfile

import (
	"strconv"
	"strings"

	"github.com/weirstream/weir/job/yamljob/internal/text"
)

// Set carries out one --set path=value. Steps of the path are keys; an item of a list is named by its name or its number
// (operators.count.window.tumbling=2m). Keys that are not there are made, but for those that named says of the blocks at
// the top (source, sink): their keys are names, and a new one is a typing error.
func (r *Report) Set(root *Node, assignment string, named ...string) {
	path, value, ok := strings.Cut(assignment, "=")
	if !ok || path == "" {
		r.Add(Pos{Set: assignment}, "", "want path=value, such as checkpoint.interval=1s")
		return
	}
	pos := Pos{Set: path}
	v := &Node{Kind: Scalar, Pos: pos, Text: value, outside: true}
	if value == "null" || value == "~" {
		v.Kind = Null
	}
	for _, block := range named {
		if rest, ok := strings.CutPrefix(path, block+"."); ok && !r.hasStep(root.Get(block), block, rest, pos) {
			return
		}
	}
	r.set(root, path, v)
}

// hasStep reports a path that begins with none of the names of a block. One that is no mapping is reported elsewhere.
func (r *Report) hasStep(n *Node, block, path string, pos Pos) bool {
	if n == nil || n.AsMapping().Kind != Mapping {
		return true
	}
	var names []string
	for _, e := range n.Entries {
		if path == e.Key || strings.HasPrefix(path, e.Key+".") {
			return true
		}
		names = append(names, e.Key)
	}
	got, _, _ := strings.Cut(path, ".")
	r.Add(pos, "", "no %s %q%s", block, got, among(got, names))
	return false
}

// among suggests the name that was probably meant, or says what there is.
func among(got string, names []string) string {
	hint := text.Suggest(got, names)
	switch {
	case hint != "" || len(names) == 0:
		return hint
	case len(names) == 1:
		return ": there is only " + names[0]
	}
	return ": there are " + strings.Join(names, ", ")
}

func (r *Report) set(n *Node, path string, v *Node) {
	pos := v.Pos
	n.open(Mapping)
	if n.Kind == Null {
		n.Kind, n.Pos = Mapping, pos
	}
	switch n.Kind {
	case Mapping:
		// A key may have dots in it.
		for end := len(path); end > 0; end = strings.LastIndexByte(path[:end], '.') {
			if e := n.entry(path[:end]); e != nil {
				if end == len(path) {
					e.Pos, e.Value = pos, v
				} else {
					r.set(e.Value, path[end+1:], v)
				}
				return
			}
		}
		key, rest, more := strings.Cut(path, ".")
		e := Entry{key, pos, v}
		if more {
			e.Value = &Node{Kind: Mapping, Pos: pos}
			r.set(e.Value, rest, v)
		}
		n.Entries = append(n.Entries, e)
	case Sequence:
		var names []string
		for i, item := range n.Items {
			name := strconv.Itoa(i)
			if named := item.Get("name"); named != nil {
				name = named.Text
			}
			names = append(names, name)
			for _, name := range []string{name, strconv.Itoa(i)} {
				if path == name {
					n.Items[i] = v
					return
				}
				if rest, ok := strings.CutPrefix(path, name+"."); ok {
					r.set(item, rest, v)
					return
				}
			}
		}
		got, _, _ := strings.Cut(path, ".")
		what := "item"
		if strings.HasPrefix(pos.Set, "operators.") {
			what = "operator"
		}
		r.Add(pos, "", "no %s %q%s", what, got, among(got, names))
	default:
		r.Add(pos, "", "the file has a value there, which has no %q", path)
	}
}
