package yamlfile

import (
	"fmt"
	"strings"
)

// Substitute replaces ${NAME} and ${NAME:-default} in every scalar; $$ stands for a dollar sign. Other dollar signs stay
// as they are: $topic is a name in expressions, and patterns end in $. (The libraries for this take $NAME for a variable
// too.) What was replaced is typed afterwards, as if it stood in the file.
func (r *Report) Substitute(n *Node, env func(string) (string, bool)) {
	for _, e := range n.Entries {
		r.Substitute(e.Value, env)
	}
	for _, i := range n.Items {
		r.Substitute(i, env)
	}
	if n.Kind != Scalar || !strings.Contains(n.Text, "$") {
		return
	}
	text, found, err := substitute(n.Text, env)
	if err != nil {
		r.Add(n.Pos, "", "%v", err)
		n.bad = true
	}
	n.outside = n.outside || found
	n.Text = text
}

func substitute(s string, env func(string) (string, bool)) (text string, found bool, err error) {
	var b strings.Builder
	for {
		i := strings.IndexByte(s, '$')
		if i < 0 || i+1 == len(s) {
			b.WriteString(s)
			return b.String(), found, err
		}
		b.WriteString(s[:i])
		switch s = s[i:]; s[1] {
		case '$':
			b.WriteByte('$')
			s = s[2:]
		case '{':
			end := strings.IndexByte(s, '}')
			if end < 0 {
				return b.String(), found, fmt.Errorf("%s: the } is missing (write $$ for a dollar sign)", s)
			}
			name, fallback, hasFallback := strings.Cut(s[2:end], ":-")
			s, found = s[end+1:], true
			value, set := env(name)
			switch {
			case !isName(name):
				err = fmt.Errorf("${%s}: want ${NAME} or ${NAME:-default} (write $$ for a dollar sign)", name)
			case set && (value != "" || !hasFallback):
				b.WriteString(value)
			case hasFallback:
				b.WriteString(fallback)
			default:
				err = fmt.Errorf("the environment variable %s is not set, and ${%s} has no default (${%s:-default})", name, name, name)
			}
		default:
			b.WriteByte('$')
			s = s[1:]
		}
	}
}

func isName(s string) bool {
	for i, c := range s {
		if c != '_' && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}
