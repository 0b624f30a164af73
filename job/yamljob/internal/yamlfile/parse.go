package yamlfile

import (
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// maxNodes bounds what aliases may expand to.
const maxNodes = 100_000

// Parse reads one YAML document, which must be a mapping. It returns nil if that fails; the report says why.
func Parse(file string, data []byte) (*Node, *Report) {
	r := &Report{File: file, lines: strings.Split(string(data), "\n")}
	f, err := parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		r.syntax(err)
		return nil, r
	}
	var bodies []ast.Node
	for _, d := range f.Docs {
		if d.Body != nil && d.Body.Type() != ast.CommentType {
			bodies = append(bodies, d.Body)
		}
	}
	switch len(bodies) {
	case 0:
		r.Add(Pos{Line: 1, Column: 1}, "", "the file is empty")
		return nil, r
	case 1:
	default:
		r.Add(position(bodies[1]), "", "a second document begins here: one job is one document")
	}
	c := &converter{r: r, anchors: map[string]*Node{}}
	root := c.node(bodies[0])
	if root.Kind != Mapping {
		r.Add(root.Pos, "", "want a mapping that begins with job: NAME, got %v", root.Kind)
		return nil, r
	}
	return root, r
}

func parseFlow(text string) (*Node, bool) {
	n, r := Parse("", []byte("v: "+text))
	if n == nil || r.Errors() > 0 {
		return nil, false
	}
	v := n.Get("v")
	return v, v != nil && v.Kind >= Mapping
}

func (r *Report) syntax(err error) {
	var at yaml.Error
	if !errors.As(err, &at) || at.GetToken() == nil || at.GetToken().Position == nil {
		r.Add(Pos{}, "", "not YAML: %v", err)
		return
	}
	p := at.GetToken().Position
	message := at.GetMessage()
	switch {
	case strings.Contains(message, "'\t'"):
		message = "a tab: YAML indents with spaces"
	case p.Line <= len(r.lines) && strings.Contains(r.lines[p.Line-1], "${"):
		message += ` (inside {} or [], put quotes around "${...}")`
	case p.Line <= len(r.lines) && strings.ContainsAny(r.lines[p.Line-1], "{["):
		message += ` (inside {} or [], put quotes around a text that has one of {}[],:# in it)`
	case strings.Contains(message, "mapping value is not allowed"):
		message += ` (put quotes around a text that has ": " in it)`
	}
	r.Add(Pos{Line: p.Line, Column: max(1, p.Column)}, "", "not YAML: %s", message)
}

type converter struct {
	r       *Report
	anchors map[string]*Node
	count   int
}

func position(n ast.Node) Pos {
	t := n.GetToken()
	if m, ok := n.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		t = m.Values[0].Key.GetToken()
	}
	if m, ok := n.(*ast.MappingValueNode); ok {
		t = m.Key.GetToken()
	}
	if t == nil || t.Position == nil {
		return Pos{}
	}
	return Pos{Line: t.Position.Line, Column: t.Position.Column}
}

func (c *converter) node(n ast.Node) *Node {
	out := &Node{Pos: position(n)}
	c.count++
	switch n := n.(type) {
	case *ast.NullNode:
	case *ast.MappingNode:
		out.Kind = Mapping
		for _, v := range n.Values {
			c.add(out, v)
		}
	case *ast.MappingValueNode:
		out.Kind = Mapping
		c.add(out, n)
	case *ast.SequenceNode:
		out.Kind = Sequence
		for _, v := range n.Values {
			if t := oneText(v); t != nil {
				c.count++
				out.Items = append(out.Items, t)
				continue
			}
			out.Items = append(out.Items, c.node(v))
		}
	case *ast.AnchorNode:
		out = c.node(n.Value)
		c.anchors[n.Name.GetToken().Value] = out
	case *ast.AliasNode:
		return c.alias(n, out)
	case *ast.TagNode:
		out = c.node(n.Value)
		out.Quoted = true
	case *ast.LiteralNode:
		out.Kind, out.Text, out.Quoted = Scalar, strings.TrimSuffix(n.Value.Value, "\n"), true
		out.block = strings.HasPrefix(n.Start.Value, "|")
	case *ast.StringNode:
		out.Kind, out.Text = Scalar, n.Value
		out.Quoted = n.Token.Type == token.DoubleQuoteType || n.Token.Type == token.SingleQuoteType
	default:
		out.Kind, out.Text = Scalar, n.GetToken().Value
	}
	return out
}

// oneText is an item like localhost:9092 in {brokers: [localhost:9092]}: a colon without a space behind it is part of a text
// (YAML 1.2, 7.3.3), which the parser takes for a mapping where a mapping in braces is around the list. It is nil for anything else.
func oneText(n ast.Node) *Node {
	if m, ok := n.(*ast.MappingNode); ok && len(m.Values) == 1 && m.Start == m.Values[0].Start {
		n = m.Values[0]
	}
	pair, ok := n.(*ast.MappingValueNode)
	if !ok || pair.Start == nil {
		return nil
	}
	key, colon, value := pair.Key.GetToken(), pair.Start, pair.Value.GetToken()
	for _, t := range []*token.Token{key, value} {
		if t == nil || t.Position == nil || t.Type == token.SingleQuoteType || t.Type == token.DoubleQuoteType {
			return nil
		}
	}
	if _, scalar := pair.Value.(ast.ScalarNode); !scalar || key.Position.Line != value.Position.Line ||
		key.Position.Column+utf8.RuneCountInString(key.Value) != colon.Position.Column || colon.Position.Column+1 != value.Position.Column {
		return nil
	}
	return &Node{Pos: Pos{Line: key.Position.Line, Column: key.Position.Column}, Kind: Scalar, Text: key.Value + ":" + strings.TrimSpace(value.Origin)}
}

func (c *converter) alias(n *ast.AliasNode, out *Node) *Node {
	name := n.Value.GetToken().Value
	target := c.anchors[name]
	if target == nil {
		c.r.Add(out.Pos, "", "unknown anchor %q: it has to be defined above", name)
		return out
	}
	if c.count += target.size(); c.count > maxNodes {
		c.r.Add(out.Pos, "", "the aliases expand to more than %d values", maxNodes)
		return out
	}
	return target.clone()
}

func (n *Node) size() int {
	size := 1
	for _, e := range n.Entries {
		size += e.Value.size()
	}
	for _, i := range n.Items {
		size += i.size()
	}
	return size
}

// add puts an entry into a mapping. A merge key (<<) brings in what its mapping has and this one has not.
func (c *converter) add(m *Node, v *ast.MappingValueNode) {
	pos := position(v)
	value := c.node(v.Value)
	if _, merge := v.Key.(*ast.MergeKeyNode); merge {
		list := []*Node{value}
		if value.Kind == Sequence {
			list = value.Items
		}
		for _, from := range list {
			if from.Kind != Mapping {
				c.r.Add(pos, "", "<< wants a mapping, got %v", from.Kind)
			}
			for _, e := range from.Entries {
				if m.entry(e.Key) == nil {
					m.Entries = append(m.Entries, Entry{e.Key, Pos{}, e.Value})
				}
			}
		}
		return
	}
	key := v.Key.GetToken().Value
	if old := m.entry(key); old != nil {
		if old.Pos.Line == 0 { // it was merged in
			old.Pos, old.Value = pos, value
			return
		}
		c.r.Add(pos, "", "key %q appears twice: first in line %d", key, old.Pos.Line)
		return
	}
	m.Entries = append(m.Entries, Entry{key, pos, value})
}
