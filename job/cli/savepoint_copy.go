package cli

import (
	"fmt"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"
	"github.com/urfave/cli/v2"

	"github.com/weirstream/weir/internal/savepoint"
)

func (p *program) savepointCopy() *cli.Command {
	return &cli.Command{
		Name:      "copy",
		Usage:     "copy a savepoint to another directory or bucket, verified",
		ArgsUsage: "SAVEPOINT TO",
		Description: "Every file is compared with its hash, and the manifest is written last. A copy that was interrupted is completed by\n" +
			"the same command. The copy has the same ID: a job that has begun from one has begun from the other.",
		Flags: outputFlags(),
		Action: func(c *cli.Context) error {
			if c.NArg() != 2 {
				return usagef("%s: name a savepoint and the place to copy it to", called(c))
			}
			asJSON, err := wantsJSON(c)
			if err != nil {
				return err
			}
			ctx, cancel := filesContext(c)
			defer cancel()
			copied, err := savepoint.Copy(ctx, c.Args().Get(0), c.Args().Get(1))
			if err != nil {
				return err
			}
			if asJSON {
				return p.printJSON(copied)
			}
			p.printCopied("copied", copied)
			return nil
		},
	}
}

func (p *program) printCopied(what string, s *savepoint.Copied) {
	fmt.Fprintf(p.stdout, "%s: savepoint %s, %s, %s\n%s\n", what, s.ID, english.Plural(s.Files, "file", ""), humanize.IBytes(uint64(s.Size)), s.Location)
}
