package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/doctor/probe"
	"github.com/weirstream/weir/internal/doctor/txn"
	"github.com/weirstream/weir/internal/kafka"
	"github.com/weirstream/weir/sink"
)

func (p *program) transactions() *cli.Command {
	flags := func(more ...cli.Flag) []cli.Flag {
		return slices.Concat(p.jobFlags(), nameFlags(), more)
	}
	return &cli.Command{
		Name:  "transactions",
		Usage: "look at a job's transactions, and at those of others on its topics; end one that nobody ends",
		Subcommands: []*cli.Command{
			{
				Name: "list", Usage: "list the job's transactional IDs and what each has open", ArgsUsage: p.jobArg("JOB"),
				Description: "JOB is a file or a job's name. STATE is Kafka's: Ongoing, a transaction is open; PrepareCommit and PrepareAbort, its\n" +
					"outcome is decided and being written; CompleteCommit and CompleteAbort, it is over, and none is open; Empty, none was\n" +
					"begun since the ID was taken over; None, the ID was never used, or not for transactional.id.expiration.ms.\n" +
					"With --all also what anybody has open on the topics that the job reads and writes.\n" +
					"VERDICT says what becomes of such a transaction: open (its coordinator ends it), hanging (nobody does),\n" +
					"unclear (nobody tells whose it is).",
				Flags:  flags(append(outputFlags(), &cli.BoolFlag{Name: "all", Usage: "also the transactions of others on the job's topics", DisableDefaultText: true})...),
				Action: p.listTransactions,
			},
			{
				Name: "abort", Usage: "abort the job's open transactions, or with --topic the one that somebody left open on a partition", ArgsUsage: p.jobArg("JOB"),
				Description: "Without --yes it only says what it would do. A start of the job aborts what the job left open by itself: this\n" +
					"command is for when it is not to start yet, and for transactions of others that block it.\n" +
					"Nothing of the job is lost: the next start goes on from the last checkpoint.",
				Flags: append(flags(
					&cli.BoolFlag{Name: "yes", Usage: "do it", DisableDefaultText: true},
					&cli.BoolFlag{Name: "force", Usage: "also if the job runs, or if the transaction of somebody else does not hang", DisableDefaultText: true},
					&cli.StringFlag{Name: "topic", Usage: "the `TOPIC` of a transaction of somebody else"},
					&cli.IntFlag{Name: "partition", Value: -1, Usage: "its partition"},
					&cli.Int64Flag{Name: "start-offset", Value: -1, Usage: "the `OFFSET` at which it begins there, as list --all shows it"},
				), addressFlags("the job's `HOST:PORT`, to see whether it runs")...),
				Action: p.abortTransactions,
			},
		},
	}
}

func (j *connected) own(ctx context.Context) ([]txn.State, error) {
	states := txn.Describe(ctx, j.client, probe.IDs(&j.options, j.job)...)
	for _, s := range states {
		if s.Err != nil {
			return nil, fmt.Errorf("transaction %s: %w", s.ID, s.Err)
		}
	}
	return states, nil
}

func (p *program) listTransactions(c *cli.Context) error {
	if err := p.wantJob(c, 0); err != nil {
		return err
	}
	return p.onJob(c, patient, func(ctx context.Context, j *connected, asJSON bool) error {
		own, err := j.own(ctx)
		if err != nil {
			return err
		}
		never, err := j.neverRan(ctx, own)
		if err != nil {
			return err
		}
		out := listedTransactions{Own: own}
		if c.Bool("all") {
			topics, err := p.topicsOf(ctx, c, j)
			if err != nil {
				return err
			}
			if out.Others, err = j.others(ctx, topics, own); err != nil {
				return err
			}
		}
		if asJSON {
			return p.printJSON(out)
		}
		p.printTransactions(out, c.Bool("all"))
		if never != "" {
			fmt.Fprintln(p.stdout, "\n"+never)
		}
		return nil
	})
}

// neverRan says that a job is not known on the cluster, "" if it is. A job that was asked for by its name must be.
func (j *connected) neverRan(ctx context.Context, own []txn.State) (string, error) {
	if slices.ContainsFunc(own, func(s txn.State) bool { return s.State != txn.None }) {
		return "", nil
	}
	topic := j.options.Topic(j.job)
	_, err := j.cluster.Topic(ctx, topic)
	switch {
	case err == nil:
		return "", nil // its IDs have expired
	case !errors.Is(err, kafka.ErrNoTopic):
		return "", err
	}
	never := fmt.Sprintf("job %s has never run on this cluster: there is no topic %s, and nobody has used its transactional IDs", j.job, topic)
	if j.storage == "" {
		return "", errors.New(never + ": are its name and --prefix right?")
	}
	return never, nil
}

// listedTransactions is what list prints as JSON.
type listedTransactions struct {
	Own    []txn.State `json:"own"`
	Others []otherOpen `json:"others"`
}

// otherOpen is a transaction of somebody else with what becomes of it.
type otherOpen struct {
	txn.Open
	Verdict txn.Verdict `json:"verdict"`
}

func (p *program) printTransactions(l listedTransactions, all bool) {
	now := time.Now()
	t := plainTable(p.stdout)
	t.AppendHeader(table.Row{"transactional id", "state", "producer", "epoch", "open for", "timeout", "partitions"})
	for _, s := range l.Own {
		row := table.Row{s.ID, s.State, "-", "-", "-", "-", ""}
		if s.Producer >= 0 {
			row[2], row[3], row[5] = s.Producer, s.Epoch, time.Duration(s.Timeout)*time.Millisecond
		}
		if s.Started > 0 {
			row[4] = s.Age(now).Round(time.Millisecond)
		}
		var names []string
		for _, p := range s.Partitions {
			names = append(names, p.String())
		}
		row[6] = strings.Join(names, " ")
		t.AppendRow(row)
	}
	t.Render()
	if !all {
		return
	}
	fmt.Fprintln(p.stdout)
	if len(l.Others) == 0 {
		fmt.Fprintln(p.stdout, "nobody else has a transaction open on the job's topics")
		return
	}
	t = plainTable(p.stdout)
	t.AppendHeader(table.Row{"topic", "partition", "start offset", "producer", "epoch", "last record", "verdict", "transactional id", "state"})
	for _, o := range l.Others {
		state := "-"
		if o.State != nil {
			state = o.State.State
		}
		id := o.ID
		if id == "" {
			id = "?"
		}
		t.AppendRow(table.Row{o.Topic, o.Partition.Partition, o.Start, o.Producer, o.Epoch, checkpoint.TimeText(o.Last), o.Verdict, id, state})
	}
	t.Render()
}

// others are the transactions open on topics that are not the job's own.
func (j *connected) others(ctx context.Context, topics []string, own []txn.State) ([]otherOpen, error) {
	partitions := map[string][]int32{}
	for _, name := range topics {
		t, err := j.cluster.Topic(ctx, name)
		if errors.Is(err, kafka.ErrNoTopic) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, p := range t.Partitions {
			partitions[name] = append(partitions[name], p.Index)
		}
	}
	open, errs := txn.Producers(ctx, j.client, partitions)
	for topic, err := range errs {
		return nil, &kafka.TopicError{Topic: topic, Err: fmt.Errorf("asking for its producers: %w", err)}
	}
	var out []otherOpen
	for _, o := range open {
		mine := slices.ContainsFunc(own, func(s txn.State) bool { return s.Producer == o.Producer })
		if v := o.Verdict(); !mine || v == txn.Hangs {
			out = append(out, otherOpen{o, v})
		}
	}
	return out, nil
}

// topicsOf are the topics that a job reads and writes on its own cluster: those of its file, or if only its name is known
// those of its last checkpoint.
func (p *program) topicsOf(ctx context.Context, c *cli.Context, j *connected) ([]string, error) {
	topics := []string{j.options.Topic(j.job)}
	add := func(name string) {
		if !slices.Contains(topics, name) {
			topics = append(topics, name)
		}
	}
	config, err := p.configOf(c)
	if err != nil {
		return nil, err
	}
	if config != nil {
		for _, name := range probe.Topics(config) {
			add(name)
		}
		return topics, nil
	}
	log, err := sink.NewPointerLog(j.client, sink.LogConfig{Topic: topics[0]})
	if err != nil {
		return nil, err
	}
	logged, err := log.List(ctx, 1)
	if err != nil || len(logged) == 0 {
		return nil, fmt.Errorf("job %s has no checkpoint that would say which topics it uses: name its file", j.job)
	}
	ptr, err := checkpoint.DecodePointer(logged[0].Value)
	if err != nil {
		return nil, err
	}
	for _, t := range ptr.Topics {
		add(t.Name)
	}
	return topics, nil
}
