package yamljob

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/internal/runtime"
)

const everyAggregate = `
job: crashes
kafka: {brokers: ["${KAFKA_BROKERS}"]}
source: {in: {topics: [in], fields: {user: string, page: string, amount: float, n: int}}}
operators:
  - {name: by-user, key_by: user}
  - name: all
    aggregate: {count: count(), sum: sum(n), total: sum(amount), mean: avg(n), last: last(page), least: min(page), pages: count_distinct(page)}
sink: {out: {topic: out}}
checkpoint: {interval: 10ms}
`

// TestAggregatesSurviveCrashes kills a job again and again; what a reader sees is what a plain loop computes.
func TestAggregatesSurviveCrashes(t *testing.T) {
	c := &cluster{t: t}
	c.start([]string{"in", "out"})
	defer c.close()
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(1, 2))
	loop := plainLoop{}
	for round := range 5 {
		var lines []string
		for range 200 {
			lines = append(lines, loop.record(rng))
		}
		c.produce("in", "0", strings.Join(lines, "\n"))
		l, err := Parse("crashes.yaml", []byte(everyAggregate), LoadOptions{
			Env: env(map[string]string{"KAFKA_BROKERS": c.fake.ListenAddrs()[0]}),
			Set: []string{"checkpoint.storage=" + dir + "/state", "checkpoint.local_dir=" + dir + "/local", fmt.Sprintf("parallelism=%d", 1+round%2)},
		})
		if err != nil {
			t.Fatal(err)
		}
		j, err := l.Graph.Prepare(l.Options)
		if err != nil {
			t.Fatal(err)
		}
		ctx, kill := context.WithCancelCause(context.Background())
		done := make(chan error, 1)
		go func() { done <- j.Run(ctx) }()
		want := 1 + rng.IntN(len(loop.results))
		if round == 4 {
			want = len(loop.results)
		}
		results := c.await(t, j, done, want)
		kill(errors.New("crash"))
		<-done
		loop.check(t, results)
	}
}

// await waits until at least n results can be read, and returns all of them.
func (c *cluster) await(t *testing.T, j *runtime.Job, done chan error, n int) []string {
	t.Helper()
	deadline := time.NewTimer(30 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		c.seen["out"] = 0
		if results := c.read(context.Background(), "out"); len(results) >= n {
			return results
		}
		select {
		case err := <-done:
			t.Fatalf("the job ended: %v", err)
		case <-deadline.C:
			t.Fatalf("waited 30s for %d results: %+v", n, j.Status())
		case <-tick.C:
		}
	}
}

// plainLoop computes what the job does.
type plainLoop struct {
	users   map[string]*user
	results []string
	perUser map[string][]string
}

type user struct {
	count, sum  int
	total       float64
	least, last string
	pages       map[string]bool
}

func (p *plainLoop) record(rng *rand.Rand) string {
	if p.users == nil {
		p.users, p.perUser = map[string]*user{}, map[string][]string{}
	}
	name := fmt.Sprintf("u%d", rng.IntN(9))
	page, n, amount := fmt.Sprintf("/%d", rng.IntN(30)), rng.IntN(100), float64(rng.IntN(1000))/4
	u := p.users[name]
	if u == nil {
		u = &user{pages: map[string]bool{}, least: page}
		p.users[name] = u
	}
	u.count++
	u.sum += n
	u.total += amount
	u.last, u.least = page, min(u.least, page)
	u.pages[page] = true
	result := fmt.Sprintf(`{"user":"%s","count":%d,"sum":%d,"total":%v,"mean":%v,"last":"%s","least":"%s","pages":%d}`,
		name, u.count, u.sum, u.total, float64(u.sum)/float64(u.count), u.last, u.least, len(u.pages))
	p.results = append(p.results, result)
	p.perUser[name] = append(p.perUser[name], result)
	return fmt.Sprintf(`- {"user":"%s","page":"%s","n":%d,"amount":%v}`, name, page, n, amount)
}

// check compares results, in order for each user, with the first ones that the loop has.
func (p *plainLoop) check(t *testing.T, results []string) {
	t.Helper()
	seen := map[string]int{}
	for _, r := range results {
		_, r, _ := strings.Cut(r, " ") // topic
		name, r, _ := strings.Cut(r, " ")
		value, _, _ := strings.Cut(r, " @")
		if want := p.perUser[name]; seen[name] >= len(want) || want[seen[name]] != value {
			t.Fatalf("result %d of %s is %s", seen[name], name, value)
		}
		seen[name]++
	}
}
