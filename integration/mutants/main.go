// Command mutants checks the proof itself: it plants one fault after the other into a copy of the engine, and for each runs
// the test that is to catch it. A fault that no test catches is a missing test.
//
//	go run ./integration/mutants              all of them
//	go run ./integration/mutants -run rule-5  those whose name matches the regular expression
//	go run ./integration/mutants -list
//
// It ends with 1 if a fault was not caught. A fault that does not compile, or whose test fails without it, counts as not
// caught. Nothing outside of a temporary folder is changed.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run() error {
	only := flag.String("run", "", "plant only the faults whose name matches the `REGEXP`")
	list := flag.Bool("list", false, "list them and plant none")
	timeout := flag.Duration("timeout", 2*time.Minute, "how long the tests of one fault may take")
	flag.Parse()
	match, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("-run: %w", err)
	}
	chosen := slices.DeleteFunc(slices.Clone(mutants), func(m mutant) bool { return !match.MatchString(m.Name) })
	if *list {
		show(chosen, nil)
		return nil
	}
	if len(chosen) == 0 {
		return fmt.Errorf("no planted fault is called %s", *only)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	began := time.Now()
	dir, err := copyModule(ctx)
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	c := checker{dir: dir, timeout: *timeout}
	if err := c.unharmed(ctx, chosen); err != nil {
		return err
	}
	results := map[string]result{}
	missed := 0
	for i, m := range chosen {
		r := c.try(ctx, m)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		results[m.Name] = r
		fmt.Fprintf(os.Stderr, "%2d/%d  %-14s %s (%s)\n", i+1, len(chosen), r.outcome, m.Name, r.took.Round(time.Second))
		if !r.outcome.good() {
			missed++
			fmt.Fprintln(os.Stderr, r.output)
		}
	}
	show(chosen, results)
	if missed > 0 {
		return fmt.Errorf("%d of %d planted faults were not caught", missed, len(chosen))
	}
	fmt.Printf("%d planted faults, all caught, in %s\n", len(chosen), time.Since(began).Round(time.Second))
	return nil
}

func show(chosen []mutant, results map[string]result) {
	t := table.NewWriter()
	t.SetOutputMirror(os.Stdout)
	t.SetStyle(table.StyleLight)
	header := table.Row{"planted fault", "what it does", "test"}
	if results != nil {
		header = append(header, "result", "took")
	}
	t.AppendHeader(header)
	for _, m := range chosen {
		row := table.Row{m.Name, m.What, strings.TrimPrefix(m.Package, "./") + ": " + strings.Join(m.tests(), ", ")}
		if results != nil {
			row = append(row, results[m.Name].outcome, results[m.Name].took.Round(time.Second))
		}
		t.AppendRow(row)
	}
	t.Render()
}
