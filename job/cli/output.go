package cli

import (
	"encoding/json"

	"github.com/urfave/cli/v2"
)

// outputFlags say how a command prints what it has found. They are the same for every command that prints a table.
func outputFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "output", Value: "table", Usage: "`FORMAT`: table, or json for programs"},
		&cli.BoolFlag{Name: "json", Usage: "the same as --output json", DisableDefaultText: true},
	}
}

// wantsJSON reads them.
func wantsJSON(c *cli.Context) (bool, error) {
	format := c.String("output")
	switch {
	case format != "table" && format != "json":
		return false, usagef("%s: --output is table or json, not %q", called(c), format)
	case format == "table" && c.IsSet("output") && c.Bool("json"):
		return false, usagef("%s: --output table and --json exclude each other", called(c))
	}
	return format == "json" || c.Bool("json"), nil
}

func (p *program) printJSON(v any) error {
	e := json.NewEncoder(p.stdout)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
