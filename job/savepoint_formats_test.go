package job_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/job"
)

var update = flag.Bool("update", false, "write the savepoints of this format version that testdata/savepoints does not have yet")

// TestSavepointsOfEveryFormatAreRestored starts jobs from the savepoints in testdata/savepoints/v<format>-<job>, which
// builds of their time have written, and feeds them on: results must be those that a build of that time had, in
// v<format>-<job>.want. With -update the savepoints are made that are not there; one that is there is never written again.
func TestSavepointsOfEveryFormatAreRestored(t *testing.T) {
	for _, f := range formatJobs {
		t.Run(f.name, func(t *testing.T) {
			if dir := keptSavepoint(checkpoint.Format, f.name); *update {
				if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
					makeSavepoint(t, f, dir)
				}
			}
			for format := 1; format <= checkpoint.Format; format++ {
				t.Run(fmt.Sprint("v", format), func(t *testing.T) { restoreKept(t, f, keptSavepoint(format, f.name), true) })
			}
			// The first builds described no values.
			t.Run("without schemas", func(t *testing.T) { restoreKept(t, f, keptSavepoint(1, f.name), false) })
		})
	}
}

func keptSavepoint(format int, name string) string {
	return filepath.Join("testdata", "savepoints", fmt.Sprintf("v%d-%s", format, name))
}

// keptCluster has one partition a topic, so that all is in order, and what was fed before the savepoint.
func keptCluster(t *testing.T, f formatJob) *cluster {
	fake, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, append([]string{"in", "right"}, f.outputs...)...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fake.Close)
	c := &cluster{t: t, fake: fake, addrs: fake.ListenAddrs()}
	c.client = c.connect()
	c.visits("right", 0, 20)
	c.visits("in", 0, 60)
	return c
}

// visits writes records from to to-1, a second apart, of five users.
func (c *cluster) visits(topic string, from, to int) {
	c.t.Helper()
	for i := from; i < to; i++ {
		r := &kgo.Record{Topic: topic, Key: fmt.Appendf(nil, "u%d", i*i%7), Value: strconv.AppendInt(nil, int64(i), 10), Timestamp: time.UnixMilli(int64(1_000_000 + i*1000))}
		if err := c.client.ProduceSync(context.Background(), r).FirstErr(); err != nil {
			c.t.Fatal(err)
		}
	}
}

// results are the committed ones of all outputs, sorted: timers and events of a key may change places.
func (c *cluster) results(f formatJob) (out []string) {
	for _, topic := range f.outputs {
		byKey := c.read(topic)
		for key, values := range byKey {
			for _, v := range values {
				out = append(out, strings.TrimSpace(topic+" "+key+" "+v))
			}
		}
	}
	slices.Sort(out)
	return out
}

// settled waits until everything that was fed is in a checkpoint, and returns the results.
func (c *cluster) settled(f formatJob, in int64) []string {
	c.t.Helper()
	adm := kadm.NewClient(c.client)
	eventually(c.t, "the whole input to be in a checkpoint", func() bool {
		offsets, err := adm.FetchOffsets(c.t.Context(), "kept-"+f.name)
		if err != nil {
			return false
		}
		at, _ := offsets.Lookup("in", 0)
		right, _ := offsets.Lookup("right", 0)
		return at.At == in && (right.At == 20 || f.name != "process")
	})
	return c.results(f)
}

func keptOptions(c *cluster) job.Options {
	o := c.options(10 * time.Millisecond)
	o.Checkpoint.KeyGroups = 16
	return o
}

func makeSavepoint(t *testing.T, f formatJob, dir string) {
	c := keptCluster(t, f)
	j := start(t, f.graph(), keptOptions(c))
	c.settled(f, 60)
	whole, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Savepoint(t.Context(), whole); err != nil {
		t.Fatal(err)
	}
	left := map[string]int{}
	for _, r := range c.results(f) {
		left[r]--
	}
	c.visits("in", 60, 90)
	var want []string
	for _, r := range c.settled(f, 90) {
		if left[r]++; left[r] > 0 {
			want = append(want, r)
		}
	}
	j.stop()
	if err := os.WriteFile(dir+".want", []byte(strings.Join(want, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

func restoreKept(t *testing.T, f formatJob, kept string, schemas bool) {
	text, err := os.ReadFile(kept + ".want")
	if err != nil {
		t.Fatal(err)
	}
	c := keptCluster(t, f)
	o := keptOptions(c)
	o.Start.From = c.adopt(kept, schemas)
	c.visits("in", 60, 90)
	j := start(t, f.graph(), o)
	want := strings.Split(strings.TrimSpace(string(text)), "\n")
	var got []string
	eventually(t, "the results", func() bool {
		got = c.settled(f, 90)
		return len(got) >= len(want)
	})
	j.stop()
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// adopt copies a savepoint for this cluster, whose topics have other IDs than those that the savepoint knows, with or
// without the schemas of its states.
func (c *cluster) adopt(kept string, schemas bool) string {
	c.t.Helper()
	dir := filepath.Join(c.t.TempDir(), "savepoint")
	if err := os.CopyFS(dir, os.DirFS(kept)); err != nil {
		c.t.Fatal(err)
	}
	store, err := checkpoint.OpenStore(c.t.Context(), dir)
	if err != nil {
		c.t.Fatal(err)
	}
	defer store.Close()
	files := checkpoint.NewFiles(store, nil)
	m, err := checkpoint.ReadManifest(c.t.Context(), files)
	if err != nil {
		c.t.Fatal(err)
	}
	topics, err := kadm.NewClient(c.client).ListTopics(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	p := m.Pointer
	for i := range p.Operators {
		for k := range p.Operators[i].States {
			s := &p.Operators[i].States[k]
			if s.Schema == "" && s.Kind != "timers" {
				c.t.Errorf("state %q of operator %q has no schema", s.Name, p.Operators[i].Name)
			}
			if !schemas {
				s.Schema = ""
			}
		}
	}
	for i := range p.Topics {
		p.Topics[i].ID = checkpoint.TopicID(topics[p.Topics[i].Name].ID)
	}
	for i := range p.Sources {
		for k := range p.Sources[i].Splits {
			s := &p.Sources[i].Splits[k]
			s.TopicID = checkpoint.TopicID(topics[s.Topic].ID)
		}
	}
	if m, err = checkpoint.NewManifest(p); err != nil {
		c.t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, checkpoint.ManifestName)); err != nil {
		c.t.Fatal(err)
	}
	if err := checkpoint.WriteManifest(c.t.Context(), files, m); err != nil {
		c.t.Fatal(err)
	}
	return dir
}
