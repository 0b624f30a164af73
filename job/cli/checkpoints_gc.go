package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/urfave/cli/v2"

	"github.com/weirstream/weir/checkpoint"
)

func (p *program) checkpointsGC() *cli.Command {
	return &cli.Command{
		Name:      "gc",
		Usage:     "delete files in the job's storage that no checkpoint needs and no process can need",
		ArgsUsage: p.jobArg("JOB.yaml"),
		Description: "The job may run: only files of attempts that are over are deleted, and only those that no checkpoint in the topic lists.\n" +
			"A job that starts cleans up by itself; this is for a job that is not to start, and for what a storage has kept.",
		Flags: slices.Concat(p.jobFlags(), nameFlags(), outputFlags(), []cli.Flag{
			&cli.BoolFlag{Name: "dry-run", Usage: "only say what would be deleted", DisableDefaultText: true},
			&cli.BoolFlag{Name: "left", Usage: "give up the checkpoint of the lineage that was left behind, which stays otherwise", DisableDefaultText: true},
			&cli.DurationFlag{Name: "grace", Value: time.Hour, Usage: "leave files of attempts that ended less than that ago"},
		}),
		Action: p.collectGarbage,
	}
}

// collected is what gc prints as JSON.
type collected struct {
	Job     string `json:"job"`
	Storage string `json:"storage"`
	// Newest is the last checkpoint, of several shards the highest.
	Newest int64 `json:"newest"`
	DryRun bool  `json:"dry_run"`
	// Deleted are files, or those that would be with a dry run.
	Deleted      []string `json:"deleted"`
	DeletedBytes int64    `json:"deleted_bytes"`
	// Listed are needed; Running belong to attempts that may run; Young ended within the grace period; Foreign are not the engine's.
	Listed  int `json:"listed"`
	Running int `json:"running"`
	Young   int `json:"young"`
	Foreign int `json:"foreign"`
}

func (p *program) collectGarbage(c *cli.Context) error {
	if err := p.wantJob(c, 0); err != nil {
		return err
	}
	if p.graph == nil && !isFile(c.Args().First()) {
		return usagef("%s: name the job's file, not its name: it says where the storage is", called(c))
	}
	if c.Duration("grace") < 0 {
		return usagef("%s: --grace is negative", called(c))
	}
	return p.onJob(c, filesTimeout, func(ctx context.Context, j *connected, asJSON bool) error {
		return p.collect(ctx, c, j, asJSON)
	})
}

func (p *program) collect(ctx context.Context, c *cli.Context, j *connected, asJSON bool) error {
	if err := j.there(ctx); err != nil {
		return err
	}
	if err := j.alone(ctx); err != nil {
		return err
	}
	open := checkpoint.OpenStore
	if c.Bool("dry-run") {
		open = checkpoint.OpenStoreToRead
	}
	store, err := open(ctx, j.storage)
	if err != nil {
		return err
	}
	defer store.Close()
	out := &collected{Job: j.job, Storage: store.String(), DryRun: c.Bool("dry-run"), Deleted: []string{}}
	garbage, err := j.garbage(ctx, store, c.Duration("grace"), c.Bool("left"), out)
	if err != nil {
		return err
	}
	note := func(f checkpoint.Stored) {
		out.Deleted = append(out.Deleted, f.Name)
		out.DeletedBytes += f.Size
	}
	if out.DryRun {
		for _, f := range garbage {
			note(f)
		}
	} else if err := checkpoint.DeleteAll(ctx, store, garbage, note); err != nil {
		return fmt.Errorf("%w (%s deleted before)", err, english.Plural(len(out.Deleted), "file was", "files were"))
	}
	if asJSON {
		return p.printJSON(out)
	}
	p.printCollected(out)
	return nil
}

// garbage finds out what is to be deleted, in every shard that has files, and counts in out what is not. With giveUp the
// checkpoints that were left behind are garbage too.
func (j *connected) garbage(ctx context.Context, store checkpoint.Store, grace time.Duration, giveUp bool, out *collected) ([]checkpoint.Stored, error) {
	all, err := store.List(ctx, j.job+"/")
	if err != nil {
		return nil, err
	}
	topic, err := j.cluster.Topic(ctx, j.options.Topic(j.job))
	if err != nil {
		return nil, err
	}
	shards := checkpoint.ByShard(j.job, all)
	if _, ok := shards[0]; !ok {
		shards[0] = nil // every job has it, and one without a checkpoint is told so
	}
	var garbage, first []checkpoint.Stored
	gaveUp := false
	for _, shard := range slices.Sorted(maps.Keys(shards)) {
		listed := shards[shard]
		if shard >= len(topic.Partitions) {
			out.Foreign += len(listed) // no checkpoint can say what it needs
			continue
		}
		if err := j.owns(ctx, store, shard); err != nil {
			return nil, err
		}
		pointers, err := j.committed(ctx, store, shard)
		if shard > 0 && errors.Is(err, errNoCheckpoints) {
			out.Running += len(listed) // its first checkpoint may be under way
			continue
		}
		if err != nil {
			return nil, err
		}
		left, err := j.left(ctx, store, pointers[len(pointers)-1].Pointer.Left)
		if err != nil {
			return nil, err
		}
		if giveUp && left != nil {
			// Without this file the rest is garbage, to the job as well: it does not have to be told. So it goes whoever wrote it.
			file := left.File
			first = append(first, checkpoint.Stored{Name: file.Name, Size: file.Size})
			listed = slices.DeleteFunc(listed, func(f checkpoint.Stored) bool { return f.Name == file.Name })
			left, gaveUp = nil, true
		}
		found := checkpoint.Collect(listed, pointers, left, time.Now().UnixMilli(), grace.Milliseconds())
		garbage = append(garbage, found.Delete...)
		out.Newest = max(out.Newest, pointers[len(pointers)-1].Pointer.Checkpoint)
		out.Listed += len(found.Listed)
		out.Running += len(found.Running)
		out.Young += len(found.Young)
		out.Foreign += len(found.Foreign)
	}
	if giveUp && !gaveUp {
		return nil, fmt.Errorf("nothing was deleted: job %s has left no checkpoint behind", j.job)
	}
	return append(first, garbage...), nil
}

// owns refuses to collect in a storage that is another job's, by the shard's owner file.
func (j *connected) owns(ctx context.Context, store checkpoint.Store, shard int) error {
	id, err := j.cluster.ID(ctx)
	if err != nil {
		return err
	}
	_, err = checkpoint.NewFiles(store, nil).CheckOwner(ctx, checkpoint.Owner{Job: j.job, Shard: shard, Topic: j.options.Topic(j.job), Cluster: id})
	if err != nil {
		return fmt.Errorf("nothing was deleted: %w", err)
	}
	return nil
}

// alone refuses to collect where another job of the same name, with another prefix, may keep its files in the same storage:
// their names do not tell whose they are.
func (j *connected) alone(ctx context.Context) error {
	topics, err := kadm.NewClient(j.client).ListTopics(ctx)
	if err != nil {
		return err
	}
	own := j.options.Topic(j.job)
	for _, name := range topics.Names() {
		if name == own || !strings.HasSuffix(name, "."+j.job+".checkpoints") {
			continue
		}
		other, err := j.head(ctx, name)
		if err != nil {
			return err
		}
		if other != nil && other.Job == j.job {
			return fmt.Errorf("nothing was deleted: topic %s is that of another job called %s, with another prefix: whose files are in the storage cannot be told", name, j.job)
		}
	}
	return nil
}

// committed reads every pointer that the checkpoint topic has of a shard, oldest first. One whose rest is not there any more cannot be
// restored, and lists nothing; one that cannot be read for another reason may need any file.
func (j *connected) committed(ctx context.Context, store checkpoint.Store, shard int) ([]checkpoint.Committed, error) {
	l := logged{connected: j, topic: j.options.Topic(j.job), shard: shard}
	if err := l.read(ctx, 1<<20); err != nil {
		return nil, err
	}
	files := checkpoint.NewFiles(store, nil)
	var out []checkpoint.Committed
	for i, at := range slices.Backward(l.pointers) {
		ptr, err := checkpoint.LoadPointer(ctx, files, at.Value)
		if errors.Is(err, fs.ErrNotExist) && i > 0 {
			ptr, err = l.decoded(i)
		}
		if err != nil {
			return nil, fmt.Errorf("nothing was deleted: topic %s partition %d offset %d: %w", l.topic, shard, at.Offset, err)
		}
		out = append(out, checkpoint.Committed{Offset: at.Offset, Pointer: ptr})
	}
	return out, nil
}

// left reads the checkpoint that was left behind; nil if there is none, or what it needs cannot be known any more.
func (j *connected) left(ctx context.Context, store checkpoint.Store, l *checkpoint.Left) (*checkpoint.Pointer, error) {
	if l == nil {
		return nil, nil
	}
	p, err := checkpoint.LoadLeft(ctx, checkpoint.NewFiles(store, nil), l)
	if checkpoint.IsGone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("nothing was deleted: %w", err)
	}
	return p, nil
}

func (p *program) printCollected(c *collected) {
	for _, name := range c.Deleted {
		fmt.Fprintln(p.stdout, name)
	}
	verb := "deleted"
	if c.DryRun {
		verb = "would be deleted"
	}
	fmt.Fprintf(p.stdout, "job %s, newest checkpoint %d, %s: %s, %s, %s\n", c.Job, c.Newest, c.Storage,
		english.Plural(len(c.Deleted), "file", ""), humanize.IBytes(uint64(c.DeletedBytes)), verb)
	fmt.Fprintf(p.stdout, "left: %d that checkpoints need, %d of attempts that may run, %d of attempts that ended within the grace period, %d of others\n",
		c.Listed, c.Running, c.Young, c.Foreign)
}
