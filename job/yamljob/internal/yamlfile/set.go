package yamlfile

import (
	"strconv"
	"strings"

	"github.com/weirstream/weir/job/yamljob/internal/text"
)

// Set carries out one --set path=value. Steps of the path are keys; an item of a list is named by its name or its number
// (operators.count.window.tumbling=2m). Keys that are not there are made.
func (r *Report) Set(root *Node, assignment string) {
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
	r.set(root, path, v)
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
		r.Add(pos, "", "the list has no item %q%s", got, text.Suggest(got, names))
	default:
		r.Add(pos, "", "the file has a value there, which has no %q", path)
	}
}
