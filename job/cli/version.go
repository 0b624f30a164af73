package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/urfave/cli/v2"
)

func version(p *program) *cli.Command {
	return &cli.Command{
		Name:  "version",
		Usage: "print the version and what it was built with",
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return usagef("version: takes no arguments")
			}
			p.printVersion()
			return nil
		},
	}
}

func (p *program) printVersion() {
	fmt.Fprintf(p.stdout, "%s %s (%s, %s/%s)\n", p.name, buildVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// buildVersion is the version that the binary was built from, as far as Go recorded it: a tag, or a commit.
func buildVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	v := "devel"
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			v += "-" + s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			v += "+changes"
		}
	}
	return v
}
