package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dustin/go-humanize/english"
	"github.com/urfave/cli/v2"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/doctor/probe"
	"github.com/weirstream/weir/internal/doctor/txn"
	"github.com/weirstream/weir/internal/kafka"
)

func (p *program) abortTransactions(c *cli.Context) error {
	if err := p.wantJob(c, 0); err != nil {
		return err
	}
	foreign := c.String("topic") != ""
	switch {
	case !foreign && (c.IsSet("partition") || c.IsSet("start-offset")):
		return usagef("transactions abort: --partition and --start-offset go with --topic")
	case foreign && c.Int("partition") < 0:
		return usagef("transactions abort: --topic needs --partition")
	}
	ctx, cancel := context.WithTimeout(c.Context, patient)
	defer cancel()
	j, err := p.connect(ctx, c)
	if err != nil {
		return err
	}
	defer j.client.Close()
	if foreign {
		return p.abortOpen(ctx, c, j)
	}
	return p.abortOwn(ctx, c, j)
}

// abortOwn fences the slots that have a transaction open, as a start of the job does with all.
func (p *program) abortOwn(ctx context.Context, c *cli.Context, j *connected) error {
	// What is open of a job that runs is its work, and another thing a moment later: that is looked at first.
	if where := p.runs(ctx, c, j); where != "" && !c.Bool("force") {
		return fmt.Errorf("job %s runs %s: stop it first; with --force its attempt ends and it recovers from its last checkpoint", j.job, where)
	}
	var own, open []txn.State
	err := settle(ctx, func() (string, error) {
		var err error
		own, err = j.own(ctx)
		open = nil
		for _, s := range own {
			switch {
			case s.Ending():
				return undecided(s), err
			case s.Open():
				open = append(open, s)
			}
		}
		return "", err
	})
	if err != nil {
		return err
	}
	if _, err := j.neverRan(ctx, own); err != nil {
		return err
	}
	if len(open) == 0 {
		fmt.Fprintf(p.stdout, "job %s has no open transaction\n", j.job)
		return nil
	}
	now := time.Now()
	for _, s := range open {
		fmt.Fprintf(p.stdout, "%s: %s for %s on %s\n", s.ID, s.State, s.Age(now).Round(time.Millisecond), english.Plural(len(s.Partitions), "partition", ""))
	}
	fmt.Fprintf(p.stdout, "nothing is lost: results of these transactions were never visible, and the next start repeats them from %s\n", j.lastCheckpoint(ctx))
	if !c.Bool("yes") {
		fmt.Fprintln(p.stdout, "nothing was done: --yes aborts them")
		return nil
	}
	for _, s := range open {
		if err := txn.Fence(ctx, j.client, s.ID, j.options.TransactionTimeout); err != nil {
			return err
		}
		fmt.Fprintf(p.stdout, "%s: aborted\n", s.ID)
	}
	return nil
}

// endsWithin is how long a transaction whose outcome is decided usually takes at most to be over.
const endsWithin = 3 * time.Second

// settle repeats a look at transactions while one of them is about to end, which usually takes milliseconds. What it still says
// after a while is an error.
func settle(ctx context.Context, look func() (ending string, err error)) error {
	ctx, cancel := context.WithTimeout(ctx, endsWithin)
	defer cancel()
	var backoff kafka.Backoff
	for {
		ending, err := look()
		switch {
		case err != nil:
			return err
		case ending == "":
			return nil
		case !backoff.Wait(ctx):
			return errors.New(ending)
		}
	}
}

// undecided is what keeps a transaction from its end whose outcome is decided already.
func undecided(s txn.State) string {
	return fmt.Sprintf("transaction %s: its outcome is decided (%s), and it is not over after %s: see whether all of its partitions have a leader", s.ID, s.State, endsWithin)
}

// lastCheckpoint names the checkpoint from which a start goes on.
func (j *connected) lastCheckpoint(ctx context.Context) string {
	l := logged{connected: j, topic: j.options.Topic(j.job)}
	if l.read(ctx, 1) == nil {
		if ptr, err := l.decoded(0); err == nil {
			return fmt.Sprintf("checkpoint %d", ptr.Checkpoint)
		}
	}
	return "the beginning"
}

// runs says where the job runs, "" if it is not seen to: it answers at its HTTP address, or its transactions change.
func (p *program) runs(ctx context.Context, c *cli.Context, j *connected) string {
	if client, _, err := p.client(c); err == nil {
		if st, err := p.ask(ctx, client, j.job); err == nil && st.Job == j.job {
			return "at http://" + client.Address
		}
	}
	watch := probe.Watch(&j.options)
	if p.graph == nil && !isFile(c.Args().First()) {
		watch = max(watch, 2*time.Second) // its interval is not known
	}
	if probe.Moves(ctx, j.client, probe.IDs(&j.options, j.job), watch) {
		return "somewhere (its transactions change)"
	}
	return ""
}

// abortOpen ends the transaction of anybody on one partition.
func (p *program) abortOpen(ctx context.Context, c *cli.Context, j *connected) error {
	topic, partition, start := c.String("topic"), int32(c.Int("partition")), c.Int64("start-offset")
	at := txn.Partition{Topic: topic, Partition: partition}
	if _, err := j.cluster.Topic(ctx, topic); err != nil {
		return err
	}
	var found *txn.Open
	err := settle(ctx, func() (string, error) {
		open, errs := txn.Producers(ctx, j.client, map[string][]int32{topic: {partition}})
		if err := errs[topic]; err != nil {
			return "", &kafka.TopicError{Topic: topic, Err: fmt.Errorf("partition %d: %w", partition, err)}
		}
		var begins []string
		found = nil
		for i := range open {
			begins = append(begins, fmt.Sprint(open[i].Start))
			if open[i].Start == start {
				found = &open[i]
			}
		}
		switch {
		case len(open) == 0:
			return "", fmt.Errorf("topic %s partition %d: no transaction is open", topic, partition)
		case found == nil:
			return "", usagef("transactions abort: --start-offset: %s has transactions open since offset %s", at, strings.Join(begins, ", "))
		case found.Verdict() == txn.Ends && found.State.Ending():
			return undecided(*found.State), nil
		}
		return "", nil
	})
	if err != nil {
		return err
	}
	verdict := found.Verdict()
	who := fmt.Sprintf("producer %d", found.Producer)
	if found.ID != "" {
		who = fmt.Sprintf("transaction %s (producer %d)", found.ID, found.Producer)
	}
	fmt.Fprintf(p.stdout, "%s: %s epoch %d, open since offset %d, last record %s: %s\n", at, who, found.Epoch, found.Start, checkpoint.TimeText(found.Last), verdict)
	switch {
	case verdict == txn.Ends && !c.Bool("force"):
		return fmt.Errorf("transaction %s does not hang: its owner may be at work, and the broker aborts it %s after its begin; with --force its producer is fenced and the whole transaction aborted",
			found.ID, time.Duration(found.State.Timeout)*time.Millisecond)
	case verdict == txn.Unmarked && !c.Bool("force"):
		return fmt.Errorf("transaction %s was committed, as its coordinator says: an abort here would undo a part of that; if it is a job's own, start the job, which writes the marker; with --force it is aborted on this partition", found.ID)
	case verdict == txn.Unclear && !c.Bool("force"):
		return errors.New("nobody tells whose it is: if it is not over but at work, a part of it may yet be committed elsewhere; with --force it is aborted on this partition")
	}
	if !c.Bool("yes") {
		fmt.Fprintln(p.stdout, "what its owner wrote in it here becomes invisible for ever to read_committed readers; nothing was done: --yes aborts it")
		return nil
	}
	if verdict == txn.Ends {
		if err := txn.Fence(ctx, j.client, found.ID, time.Duration(found.State.Timeout)*time.Millisecond); err != nil {
			return err
		}
		fmt.Fprintf(p.stdout, "%s: aborted on all of its partitions\n", found.ID)
		return nil
	}
	if err := txn.Mark(ctx, j.client, *found); err != nil {
		return err
	}
	fmt.Fprintf(p.stdout, "%s: aborted\n", at)
	return nil
}
