package cli

import (
	"errors"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// flagsFirst moves the flags of a command line in front of its other arguments, as the flag package wants them: people
// write `run job.yaml --set a=b`. What follows "--" stays where it is.
func flagsFirst(app *cli.App, args []string) []string {
	if len(args) < 2 || app.Command(args[1]) == nil {
		return args
	}
	out, rest := args[:1:1], args[1:]
	commands := app.Commands
	var flags []cli.Flag
	// The command's name, and its subcommand's, stay in front.
	for len(rest) > 0 {
		i := slices.IndexFunc(commands, func(c *cli.Command) bool { return c.HasName(rest[0]) })
		if i < 0 {
			break
		}
		flags, commands = commands[i].Flags, commands[i].Subcommands
		out, rest = append(out, rest[0]), rest[1:]
	}
	var others []string
	for len(rest) > 0 {
		arg := rest[0]
		rest = rest[1:]
		if arg == "--" {
			others = append(append(others, arg), rest...)
			break
		}
		if len(arg) < 2 || arg[0] != '-' {
			others = append(others, arg)
			continue
		}
		out = append(out, arg)
		if takesValue(flags, arg) {
			if len(rest) == 0 {
				return out // without its value: what else was given must not become that
			}
			out, rest = append(out, rest[0]), rest[1:]
		}
	}
	return append(out, others...)
}

// takesValue reports whether the argument after a flag belongs to it.
func takesValue(flags []cli.Flag, arg string) bool {
	if strings.Contains(arg, "=") {
		return false
	}
	name := strings.TrimLeft(arg, "-")
	for _, f := range flags {
		if !slices.Contains(f.Names(), name) {
			continue
		}
		switch f.(type) {
		case *cli.BoolFlag, *optionalFlag:
			return false
		}
		return true
	}
	return false
}

// optional is the value of a flag that may stand alone: --fresh, or --fresh=ID.
type optional struct {
	set   bool
	value string
	// alone is the value of the flag without one.
	alone string
}

// Set implements [flag.Value]; a flag that stands alone is set to "true".
func (o *optional) Set(s string) error {
	switch s {
	case "true":
		s = o.alone
	case "": // --fresh=$ID without an ID is another request than --fresh
		return errors.New("the value behind the = is missing")
	}
	o.set, o.value = true, s
	return nil
}

func (o *optional) String() string { return o.value }

// optionalFlag is a flag with a value that may be left out. Its help shows that the value comes after "=": what stands
// behind a space would be the next argument.
type optionalFlag struct {
	*cli.GenericFlag
	of string // what the value is
}

func optionally(name, of string, value *optional, usage string) *optionalFlag {
	return &optionalFlag{&cli.GenericFlag{Name: name, Value: value, Usage: usage}, of}
}

func (f *optionalFlag) String() string { return "--" + f.Name + "[=" + f.of + "]\t" + f.Usage }

// IsBoolFlag tells the flag package that the flag may stand alone.
func (o *optional) IsBoolFlag() bool { return true }
