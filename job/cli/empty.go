package cli

import (
	"os"
	"slices"

	"github.com/urfave/cli/v2"
)

// noEmpty refuses flags and arguments that were given without a value, as an unset variable of a shell script leaves them:
// --from "" is not a start without --from. Values that come from the environment may be empty.
func noEmpty(c *cli.Context) error {
	if len(c.Command.Subcommands) > 0 {
		return nil // the subcommand's are its own
	}
	given := map[string]bool{}
	for _, name := range c.LocalFlagNames() {
		given[name] = true
	}
	for _, f := range c.Command.Flags {
		name := f.Names()[0]
		if !given[name] {
			continue
		}
		empty := false
		switch f := f.(type) {
		case *cli.StringFlag:
			empty = c.String(name) == "" && !slices.ContainsFunc(f.EnvVars, func(env string) bool {
				_, set := os.LookupEnv(env)
				return set
			})
		case *cli.StringSliceFlag:
			for _, value := range c.StringSlice(name) {
				empty = empty || value == ""
			}
		}
		if empty {
			return usagef("%s: --%s has an empty value", called(c), name)
		}
	}
	for _, arg := range c.Args().Slice() {
		if arg == "" {
			return usagef("%s: an argument is empty", called(c))
		}
	}
	return nil
}
