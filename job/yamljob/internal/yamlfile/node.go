// Package yamlfile reads a YAML file into nodes that know their place, and nodes into structs. Every mistake goes to a
// [Report], which says them all at once, each with line and column.
//
// In order: [Parse] makes nodes, [Report.Set] replaces some from the command line, [Report.Substitute] puts environment
// variables in, [Report.Decode] fills structs. What the values mean is left to package yamljob.
package yamlfile

import "strings"

// Kind is what a node is.
type Kind uint8

// The kinds of nodes.
const (
	Null Kind = iota
	Scalar
	Mapping
	Sequence
)

func (k Kind) String() string { return [...]string{"nothing", "a value", "a mapping", "a list"}[k] }

// Pos is where something was given: a line and column of the file, or a --set.
type Pos struct {
	Line, Column int
	// Set is the path of the --set that it comes from.
	Set string
}

// Node is a value of the file.
type Node struct {
	Kind Kind
	Pos  Pos
	// Text is a scalar's.
	Text   string
	Quoted bool
	// block scalars begin on the line after Pos.
	block bool
	// bad says that the value has been reported: nothing else needs to be said about it.
	bad bool
	// outside says that the text comes from the environment or a --set: it may stand for a list or a mapping.
	outside bool
	Entries []Entry
	Items   []*Node
}

// Entry is one entry of a mapping.
type Entry struct {
	Key   string
	Pos   Pos
	Value *Node
}

// Get returns the value of a key, nil if there is none.
func (n *Node) Get(key string) *Node {
	if e := n.entry(key); e != nil {
		return e.Value
	}
	return nil
}

func (n *Node) entry(key string) *Entry {
	if n == nil {
		return nil
	}
	for i := range n.Entries {
		if n.Entries[i].Key == key {
			return &n.Entries[i]
		}
	}
	return nil
}

// KeyPos is where a key stands; where the mapping begins if it has no such key.
func (n *Node) KeyPos(key string) Pos {
	if e := n.entry(key); e != nil {
		return e.Pos
	}
	return n.Pos
}

// Bad reports whether something about the value has been reported already.
func (n *Node) Bad() bool {
	if n == nil || n.bad {
		return n != nil
	}
	for _, e := range n.Entries {
		if e.Value.Bad() {
			return true
		}
	}
	for _, i := range n.Items {
		if i.Bad() {
			return true
		}
	}
	return false
}

func (n *Node) clone() *Node {
	c := *n
	c.Entries, c.Items = nil, nil
	for _, e := range n.Entries {
		c.Entries = append(c.Entries, Entry{e.Key, e.Pos, e.Value.clone()})
	}
	for _, i := range n.Items {
		c.Items = append(c.Items, i.clone())
	}
	return &c
}

// open turns a scalar from outside into what is wanted, if its text stands for that: {a: 1}, [a, b], or a,b.
func (n *Node) open(want Kind) {
	if n.Kind != Scalar {
		return
	}
	if text := strings.TrimSpace(n.Text); n.outside && (strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[")) {
		if parsed, ok := parseFlow(text); ok {
			parsed.moveTo(n.Pos)
			*n = *parsed
			return
		}
	}
	if want != Sequence {
		return
	}
	parts := []string{n.Text}
	if n.outside {
		parts = strings.Split(n.Text, ",")
	}
	list := Node{Kind: Sequence, Pos: n.Pos}
	for _, p := range parts {
		item := *n
		if n.outside {
			item.Text = strings.TrimSpace(p)
		}
		list.Items = append(list.Items, &item)
	}
	*n = list
}

// AsList makes a list of one of a scalar, and of a,b that comes from outside a list of two.
func (n *Node) AsList() *Node {
	n.open(Sequence)
	return n
}

// AsMapping makes a mapping of {a: 1} that comes from outside.
func (n *Node) AsMapping() *Node {
	n.open(Mapping)
	return n
}

func (n *Node) moveTo(pos Pos) {
	n.Pos, n.outside = pos, true
	for i := range n.Entries {
		n.Entries[i].Pos = pos
		n.Entries[i].Value.moveTo(pos)
	}
	for _, i := range n.Items {
		i.moveTo(pos)
	}
}
