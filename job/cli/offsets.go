package cli

import (
	"slices"

	"github.com/urfave/cli/v2"
)

func (p *program) offsets() *cli.Command {
	return &cli.Command{
		Name:  "offsets",
		Usage: "look at the offsets of a consumer group or a job; set a group's to those of a savepoint",
		Subcommands: []*cli.Command{
			{
				Name: "show", Usage: "show offsets, and how far the log goes on behind them", ArgsUsage: p.jobArg("GROUP|JOB"),
				Description: "For a job the offsets of its last checkpoint stand beside those of its group: the checkpoint's are what it goes on from,\n" +
					"and the group's are there for people. LAG counts offsets, some of which may be no records.",
				Flags:  slices.Concat(p.jobFlags(), nameFlags(), outputFlags()),
				Action: p.showOffsets,
			},
			{
				Name: "reset", Usage: "set a consumer group's offsets to those of a savepoint",
				Description: "Prints what would change; --execute does it. Refuses while the group has active members, and for the group of a Weir\n" +
					"job, which goes on from its checkpoint whatever its group has: run JOB --from SAVEPOINT takes a job back.",
				Flags: slices.Concat(outputFlags(), p.clusterFlags(), []cli.Flag{
					&cli.StringFlag{Name: "to", Usage: "the `SAVEPOINT` whose offsets they are to be"},
					&cli.StringFlag{Name: "group", Usage: "the consumer `GROUP` (default: that of the savepoint's job, which is refused)"},
					&cli.StringFlag{Name: "prefix", Value: "weir", Usage: "the checkpoint.prefix of jobs on this cluster"},
					&cli.StringSliceFlag{Name: "source", Usage: "only the offsets of this `SOURCE` of the savepoint; may be repeated"},
					&cli.BoolFlag{Name: "execute", Usage: "do it", DisableDefaultText: true},
				}),
				Action: p.resetOffsets,
			},
		},
	}
}
