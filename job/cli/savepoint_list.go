package cli

import (
	"context"
	"fmt"

	"github.com/dustin/go-humanize"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/savepoint"
)

func (p *program) savepointList() *cli.Command {
	return &cli.Command{
		Name:      "list",
		Usage:     "list the savepoints in a directory or bucket, and below it",
		ArgsUsage: "[DIRECTORY]",
		Description: "DIRECTORY (or URL) is savepoints by default, where create puts them. A savepoint is WHOLE if all of its files are there,\n" +
			"by name and size; copy and validate compare hashes too.",
		Flags:  outputFlags(),
		Action: p.listSavepoints,
	}
}

func (p *program) listSavepoints(c *cli.Context) error {
	dir := "savepoints"
	switch c.NArg() {
	case 0:
	case 1:
		dir = c.Args().First()
	default:
		return usagef("%s: name one directory", called(c))
	}
	asJSON, err := wantsJSON(c)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.Context, filesTimeout)
	defer cancel()
	listed, err := savepoint.List(ctx, dir)
	if err != nil {
		return err
	}
	if asJSON {
		if listed == nil {
			listed = []savepoint.Listed{}
		}
		return p.printJSON(listed)
	}
	if len(listed) == 0 {
		fmt.Fprintf(p.stdout, "there is no savepoint in %s\n", dir)
		return nil
	}
	t := plainTable(p.stdout)
	t.AppendHeader(table.Row{"location", "job", "checkpoint", "time", "lineage", "files", "size", "whole", "note"})
	for _, l := range listed {
		row := table.Row{l.Location, "-", "-", "-", "-", l.Files, humanize.IBytes(uint64(l.Size)), "yes", ""}
		if l.ID != "" {
			row[1], row[2], row[3], row[4] = l.Job, l.Checkpoint, checkpoint.TimeText(l.Time), short(l.Lineage)
		}
		if !l.Whole {
			row[7] = "no: " + l.Lacks
		}
		if l.RewrittenFrom != "" {
			row[8] = "rewritten from " + shortRequest(l.RewrittenFrom)
		}
		t.AppendRow(row)
	}
	t.Render()
	return nil
}
