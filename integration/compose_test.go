//go:build integration

package integration

import (
	"encoding/json"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/weirstream/weir/integration/compose"
	"github.com/weirstream/weir/integration/harness"
)

// docker-compose.yml, as its head and docs/operations.md describe it: up, feed, kill, restart, verify; a changed job that goes
// on from the savepoint of a stop, and another group at the same offsets; everything removed at the end.
func TestDockerComposeIsKilledUpgradedAndExact(t *testing.T) {
	t.Parallel()
	compose.Engine(t)
	root := compose.Root(t)
	compose.Images(t, root)
	p := compose.New(t, root)
	p.Do("up", "-d")
	cluster := harness.Connect(t, "localhost:9094")
	j := &composed{cluster: cluster}
	j.waitReady(t)

	// What the head of the file shows.
	if out := p.Exec("topics", "read", "--count", "5", "clicks-per-user"); len(out) == 0 {
		t.Error("nothing is read")
	}
	for range 3 {
		j.waitForMore(t, 1000)
		p.KillJob()
		p.Do("up", "-d", "processor")
		j.waitReady(t)
	}
	if _, page := harness.Get("localhost:8080", "/metrics"); page == "" {
		t.Error("no metrics")
	}
	j.waitForMore(t, 1000)
	p.Do("stop", "events")
	j.check(t)
	p.Exec("verify", "/jobs/clicks.yaml")

	// Another job: cheap views count no more, and it has twice the parallelism. Its state goes on, while views keep coming.
	const savepoint = "/var/lib/weir/savepoints/before"
	p.Do("start", "events")
	j.waitForMore(t, 1000)
	p.Beside("stop", "/jobs/clicks.yaml", "--address", "processor:8080", "--savepoint="+savepoint)
	p.Edit("examples/clicks.yaml", "operators:\n", "parallelism: 2\n\noperators:\n  - name: dear\n    filter: amount > 50\n")
	p.Beside("savepoint", "validate", savepoint, "/jobs/clicks.yaml")

	// Another program's group reads on from where the savepoint was taken: nothing without --execute.
	p.Beside("offsets", "reset", "--to", savepoint, "--group", "audit")
	if j.offsets(t, "audit") != nil {
		t.Error("a dry run has set offsets")
	}
	p.Beside("offsets", "reset", "--to", savepoint, "--group", "audit", "--execute")
	j.before = j.offsets(t, "audit")
	var read int
	for _, n := range j.before {
		read += n
	}
	if n := harness.Count(cluster.Read(t, "clicks-per-user")); n != read || n == 0 {
		t.Errorf("the savepoint has read %d views, and there are %d results", read, n)
	}
	p.Edit("docker-compose.yml", "command: run /jobs/clicks.yaml", "command: run /jobs/clicks.yaml --from "+savepoint)
	p.Do("up", "-d", "processor")
	j.waitReady(t)
	j.waitForMore(t, 1000)
	p.KillJob()
	p.Do("up", "-d", "processor") // with the same flags: it does not go back again
	j.waitReady(t)
	j.waitForMore(t, 1000)
	p.Do("stop", "events")
	j.check(t)
	p.Exec("verify", "/jobs/clicks.yaml")
}

// composed is the job of docker-compose.yml.
type composed struct {
	cluster *harness.Cluster
	// before is how many views of each partition the job has read before it was changed; nil if it was not.
	before map[int32]int
}

// clicks are what a user has done.
type clicks struct {
	Clicks int
	Total  float64
}

func (j *composed) waitReady(t *testing.T) {
	t.Helper()
	harness.Until(t, time.Minute, "readiness of the job in its container", func() (bool, string) {
		status, body := harness.Get("localhost:8080", "/readyz")
		return status == 200, fmt.Sprint(status, " ", body)
	})
}

// offsets are those that a group has committed for the views, nil if there are none.
func (j *composed) offsets(t *testing.T, group string) map[int32]int {
	t.Helper()
	committed, err := j.cluster.Admin.FetchOffsets(harness.Context(t, 20*time.Second), group)
	if err != nil {
		t.Fatal(err)
	}
	var out map[int32]int
	for partition, o := range committed["views"] {
		if o.At >= 0 {
			if out == nil {
				out = map[int32]int{}
			}
			out[partition] = int(o.At)
		}
	}
	return out
}

func (j *composed) waitForMore(t *testing.T, records int64) {
	t.Helper()
	begin := j.cluster.End(t, "clicks-per-user")
	harness.Until(t, time.Minute, "more results", func() (bool, string) {
		n := j.cluster.End(t, "clicks-per-user") - begin
		return n >= records, fmt.Sprint(n)
	})
}

// want is a plain loop over the views: what each user has done in the end, and how many results there are. Amounts are
// quarters, so that their sums do not depend on the order.
func (j *composed) want(t *testing.T) (users map[string]clicks, results int) {
	t.Helper()
	users = map[string]clicks{}
	for partition, views := range j.cluster.Read(t, "views") {
		for i, r := range views {
			var v struct {
				User   string
				Amount float64
			}
			if err := json.Unmarshal(r.Value, &v); err != nil {
				t.Fatal(err)
			}
			if j.before == nil || i < j.before[partition] || v.Amount > 50 {
				u := users[v.User]
				users[v.User] = clicks{u.Clicks + 1, u.Total + v.Amount}
				results++
			}
		}
	}
	return users, results
}

// check waits for the results of all views and compares them with the loop's: a user's clicks are counted one by one, and
// the last total is the sum.
func (j *composed) check(t *testing.T) {
	t.Helper()
	want, results := j.want(t)
	harness.Until(t, time.Minute, "all results", func() (bool, string) {
		n := harness.Count(j.cluster.Read(t, "clicks-per-user"))
		return n >= results, fmt.Sprintf("%d of %d", n, results)
	})
	got := map[string]clicks{}
	for _, rs := range j.cluster.Read(t, "clicks-per-user") {
		for _, r := range rs {
			var c clicks
			if err := json.Unmarshal(r.Value, &c); err != nil {
				t.Fatal(err)
			}
			user := string(r.Key)
			if c.Clicks != got[user].Clicks+1 {
				t.Fatalf("user %s: %d clicks follow %d", user, c.Clicks, got[user].Clicks)
			}
			got[user] = c
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("%d users are not what the loop says of %d", len(got), len(want))
	}
}
