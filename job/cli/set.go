package cli

import (
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
		names := strings.Split(path, ".")
		var doc strings.Builder
		for depth, name := range names {
			doc.WriteString(strings.Repeat("  ", depth) + name + ":")
			if depth < len(names)-1 {
				doc.WriteByte('\n')
			}
		}
		doc.WriteString(" " + value + "\n")
		if err := yaml.UnmarshalWithOptions([]byte(doc.String()), o, yaml.Strict()); err != nil {
			return usagef("--set %s: %s", a, firstLine(yaml.FormatError(err, false, false)))
		}
	}
	return nil
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return s
}
