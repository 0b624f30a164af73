package yamlfile

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/weirstream/weir/job/yamljob/internal/text"
)

// Report gathers the mistakes of one file.
type Report struct {
	// File is the name that mistakes begin with.
	File string
	// Choices are the values that a text may have, by the name of its key with those above it in the struct: "log.format".
	Choices  map[string]string
	lines    []string
	mistakes []*Mistake
}

// Mistake is one mistake. Its text is one line: file, position, part of the job, what is wrong.
type Mistake struct {
	File    string
	Pos     Pos
	Where   string
	Message string
}

func (m *Mistake) Error() string {
	var b strings.Builder
	b.WriteString(m.File)
	switch {
	case m.Pos.Set != "" && m.File == "":
		b.WriteString("--set " + m.Pos.Set)
	case m.Pos.Set != "":
		b.WriteString(": --set " + m.Pos.Set)
	case m.Pos.Line > 0:
		fmt.Fprintf(&b, ":%d:%d", m.Pos.Line, m.Pos.Column)
	}
	b.WriteString(": ")
	if m.Where != "" {
		b.WriteString(m.Where + ": ")
	}
	return b.String() + strings.ReplaceAll(m.Message, "\n", " ")
}

// Add reports a mistake in a part of the job; where may be empty.
func (r *Report) Add(pos Pos, where, format string, args ...any) {
	r.mistakes = append(r.mistakes, &Mistake{r.File, pos, where, fmt.Sprintf(format, args...)})
}

// Invalid reports what a Validate method found in the struct that n was decoded into: each mistake at the value that it
// begins with the name of, if the file has that, and not if that value has been reported already.
func (r *Report) Invalid(n *Node, where string, err error) {
	for _, message := range flatten(err) {
		at := n.about(message)
		if at.bad || at.Kind == Sequence && at.Bad() {
			continue
		}
		if m := choice.FindStringSubmatch(message); m != nil {
			message += text.Suggest(m[1], strings.Split(m[2], ", "))
		}
		r.Add(at.Pos, where, "%s", message)
	}
}

// choice is how Validate methods say that a value is none of those that are allowed.
var choice = regexp.MustCompile(`"([^"]*)" is (?:not one of|none of|unknown: one of) (.*)$`)

// flatten returns the messages of joined errors; a prefix that wraps several belongs to each of them.
func flatten(err error) (messages []string) {
	switch e := err.(type) {
	case nil:
		return nil
	case interface{ Unwrap() []error }:
		for _, part := range e.Unwrap() {
			messages = append(messages, flatten(part)...)
		}
		return messages
	case interface{ Unwrap() error }:
		inner := e.Unwrap()
		parts := flatten(inner)
		if prefix, ok := strings.CutSuffix(err.Error(), fmt.Sprint(inner)); ok && len(parts) > 1 {
			for _, p := range parts {
				messages = append(messages, prefix+p)
			}
			return messages
		}
	}
	return []string{err.Error()}
}

// about finds the value that a message like "tls: cert_file and key_file go together" or "interval: ..." begins with.
func (n *Node) about(message string) *Node {
	for {
		name, rest, ok := strings.Cut(message, ": ")
		e := n.entry(name)
		if !ok || e == nil {
			return n
		}
		n, message = e.Value, rest
	}
}

// Errors is the number of mistakes so far.
func (r *Report) Errors() int { return len(r.mistakes) }

// Err returns all mistakes in order of position, joined: one a line. It is nil if there are none.
func (r *Report) Err() error {
	sorted := slices.Clone(r.mistakes)
	slices.SortStableFunc(sorted, func(a, b *Mistake) int {
		return cmp.Or(cmp.Compare(a.Pos.Set, b.Pos.Set), cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Column, b.Pos.Column))
	})
	errs := make([]error, 0, len(sorted))
	seen := map[string]bool{}
	for _, m := range sorted {
		if text := m.Error(); !seen[text] {
			seen[text] = true
			errs = append(errs, m)
		}
	}
	return errors.Join(errs...)
}

// At is the place of a character inside a scalar, counted from 0; where the scalar begins if that cannot be told (text
// that was folded, or came from outside).
func (r *Report) At(n *Node, offset int) Pos {
	pos := n.Pos
	if n.Kind != Scalar || n.outside || pos.Line == 0 {
		return pos
	}
	chars := []rune(n.Text)
	offset = min(max(offset, 0), len(chars))
	before := string(chars[:offset])
	if n.block {
		row := strings.Count(before, "\n")
		column := r.indent(n) + len([]rune(before[strings.LastIndex(before, "\n")+1:])) + 1
		return Pos{Line: pos.Line + 1 + row, Column: column}
	}
	column := pos.Column
	if n.Quoted {
		column++
	}
	if line := []rune(r.lines[pos.Line-1]); column-1 <= len(line) && strings.HasPrefix(string(line[column-1:]), before) {
		pos.Column = column + offset
	}
	return pos
}

// indent is by how much a block scalar is indented: what its first line that is not empty lacks of that in the file.
func (r *Report) indent(n *Node) int {
	for i, line := range strings.Split(n.Text, "\n") {
		if line != "" && n.Pos.Line+i < len(r.lines) {
			return max(0, strings.Index(r.lines[n.Pos.Line+i], line))
		}
	}
	return 0
}
