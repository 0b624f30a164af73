package cli

import (
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/weirstream/weir/job"
)

// set changes values of a Go program's options by their paths, as --set of a YAML job does: "checkpoint.interval=1s".
func set(o *job.Options, assignments []string) error {
	for _, a := range assignments {
		path, value, found := strings.Cut(a, "=")
		if !found || path == "" {
			return usagef("--set %s: want PATH=VALUE, such as checkpoint.interval=1s", a)
		}
		err := decode(o, path, value)
		if err != nil {
			// What is no YAML is a string, such as a password.
			if decode(o, path, strconv.Quote(value)) == nil {
				err = nil
			}
		}
		if err != nil {
			return usagef("--set %s: %s", a, firstLine(yaml.FormatError(err, false, false)))
		}
	}
	return nil
}

// decode puts one value into the options, by a document that holds nothing else.
func decode(o *job.Options, path, value string) error {
	names := strings.Split(path, ".")
	var doc strings.Builder
	for depth, name := range names {
		doc.WriteString(strings.Repeat("  ", depth) + name + ":")
		if depth < len(names)-1 {
			doc.WriteByte('\n')
		}
	}
	doc.WriteString(" " + value + "\n")
	return yaml.UnmarshalWithOptions([]byte(doc.String()), o, yaml.Strict())
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return s
}
