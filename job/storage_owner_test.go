package job_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/runtime"
	"github.com/weirstream/weir/job"
)

// inFiles makes a job keep all of its state in files: without them it cannot be restored.
func inFiles(o job.Options) job.Options {
	o.Checkpoint.InlineThreshold, o.Checkpoint.BaseAfter = 1, 1<<20
	return o
}

// namedCluster is a Kafka of that cluster ID.
func namedCluster(t *testing.T, id string, topics ...string) *cluster {
	t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(4, topics...), kfake.ClusterID(id))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	k := &cluster{t: t, fake: c, addrs: c.ListenAddrs()}
	k.client = k.connect(kgo.RecordPartitioner(kgo.ManualPartitioner()))
	return k
}

// refusedOwner waits until the start is refused for the storage, and returns the sentence.
func refusedOwner(t *testing.T, r *running) string {
	t.Helper()
	err := r.wait()
	var owned *checkpoint.OwnedError
	if !errors.As(err, &owned) {
		t.Fatalf("the start ended with %v, want a *checkpoint.OwnedError", err)
	}
	return err.Error()
}

// one runs a job until it has the results, and kills it.
func (c *cluster) one(o job.Options, out string, records int) {
	c.t.Helper()
	j := start(c.t, sumsTo(2, out), o)
	eventually(c.t, "all results", func() bool { return diff(c.read(out), wantSums(records, 20)) == nil })
	j.kill()
}

// Files are named after the job, not after its prefix: another job of the name would delete them as garbage at its start.
func TestTwoPrefixesDoNotShareAStorage(t *testing.T) {
	c := newCluster(t, "in", "out", "copy")
	c.feed("in", 0, 400, 20)
	a := inFiles(c.options(10 * time.Millisecond))
	b := inFiles(c.options(10 * time.Millisecond))
	b.Checkpoint.Prefix, b.Checkpoint.Group, b.Checkpoint.Storage = "other", "other", a.Checkpoint.Storage
	c.one(a, "out", 400)
	before := files(t, a.Checkpoint.Storage)

	said := refusedOwner(t, start(t, sumsTo(2, "copy"), b))
	for _, part := range []string{"weir.sums.checkpoints", "other.sums.checkpoints", a.Checkpoint.Storage, "sums/owner-0.json", "another checkpoint.storage"} {
		if !strings.Contains(said, part) {
			t.Errorf("%q does not name %s", said, part)
		}
	}
	if after := files(t, a.Checkpoint.Storage); after != before {
		t.Errorf("the storage was changed:\n%s\nwas\n%s", after, before)
	}
	if topics, err := kadm.NewClient(c.client).ListTopics(t.Context()); err != nil || topics.Has("other.sums.checkpoints") {
		t.Errorf("a start that was refused made its topic (%v)", err)
	}
	if got := c.read("copy"); len(got) > 0 {
		t.Errorf("a start that was refused wrote %d keys", len(got))
	}

	c.feed("in", 400, 200, 20)
	c.one(a, "out", 600) // it goes on with its files

	// Elsewhere it starts.
	b.Checkpoint.Storage = c.t.TempDir()
	c.one(b, "copy", 600)
}

func TestTwoClustersDoNotShareAStorage(t *testing.T) {
	one, two := namedCluster(t, "one", "in", "out"), namedCluster(t, "two", "in", "out")
	one.feed("in", 0, 400, 20)
	two.feed("in", 0, 400, 20)
	a := inFiles(one.options(10 * time.Millisecond))
	one.one(a, "out", 400)

	b := a
	b.Kafka.Brokers, b.Checkpoint.LocalDir = two.addrs, t.TempDir()
	if said := refusedOwner(t, start(t, sums(2), b)); !strings.Contains(said, "cluster one") || !strings.Contains(said, "cluster two") {
		t.Errorf("%q does not name the clusters", said)
	}
	one.feed("in", 400, 200, 20)
	one.one(a, "out", 600)

	// The other one is gone, its user says: this one begins, and its files are this one's from now on.
	if err := os.Remove(filepath.Join(a.Checkpoint.Storage, "sums/owner-0.json")); err != nil {
		t.Fatal(err)
	}
	two.one(b, "out", 400)
	refusedOwner(t, start(t, sums(2), a))
}

// The topic was deleted and made anew: the job is the same, and a start that is allowed to begin from a savepoint needs no
// file to be deleted.
func TestAStorageOutlivesItsCheckpointTopic(t *testing.T) {
	c := newCluster(t, "in", "out")
	c.feed("in", 0, 400, 20)
	o := inFiles(c.options(10 * time.Millisecond))
	j := start(t, sums(2), o)
	eventually(t, "all results", func() bool { return diff(c.read("out"), wantSums(400, 20)) == nil })
	dir := filepath.Join(t.TempDir(), "savepoint")
	if st := j.ask(runtime.StopRequest{Savepoint: dir}); st.Phase != runtime.StopDone {
		t.Fatalf("%+v", st)
	}
	_ = j.wait()
	if _, err := kadm.NewClient(c.client).DeleteTopics(t.Context(), "weir.sums.checkpoints"); err != nil {
		t.Fatal(err)
	}
	c.feed("in", 400, 200, 20)
	o.Start = job.Start{From: dir, Again: true}
	c.one(o, "out", 600)
}

// A storage of an older build has no owner; the next start becomes it.
func TestAStorageWithoutAnOwnerGetsOne(t *testing.T) {
	c := newCluster(t, "in", "out")
	c.feed("in", 0, 400, 20)
	o := inFiles(c.options(10 * time.Millisecond))
	c.one(o, "out", 400)
	owner := filepath.Join(o.Checkpoint.Storage, "sums/owner-0.json")
	if err := os.Remove(owner); err != nil {
		t.Fatal(err)
	}
	c.feed("in", 400, 200, 20)
	c.one(o, "out", 600)
	if _, err := os.Stat(owner); err != nil {
		t.Error(err)
	}
}

// files lists the files in a directory with their times of change.
func files(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && !d.IsDir() {
			b.WriteString(path + " " + info.ModTime().Format(time.RFC3339Nano) + "\n")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
