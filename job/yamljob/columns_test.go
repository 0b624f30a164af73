package yamljob

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

const columnsJob = `
job: columns
kafka: {brokers: ["${KAFKA_BROKERS}"]}
source: {in: {topics: [in], fields: {user: string, page: string, n: int}}}
operators:
  - {name: by-user, key_by: user}
  - {name: totals, %s}
sink: {out: {topic: out}}
checkpoint: {interval: 10ms}
`

// TestAColumnIsAddedAndTheOthersKeepTheirState changes the aggregates of a job from start to start (C39). User b has no
// record but in the first and the last version: its state is of the oldest set of columns.
func TestAColumnIsAddedAndTheOthersKeepTheirState(t *testing.T) {
	c := &cluster{t: t}
	c.start([]string{"in", "out"})
	defer c.close()
	dir := t.TempDir()
	before := 0
	run := func(step, in string, want ...string) {
		t.Helper()
		c.produce("in", "0", in)
		if err := c.once(t, dir, step, before, want); err != nil {
			t.Fatalf("%s: %v", step, err)
		}
		before += len(want)
	}
	run("aggregate: {clicks: count(), total: sum(n)}",
		`- {"user":"a","page":"x","n":5}`+"\n"+`- {"user":"b","page":"x","n":7}`,
		`{"user":"a","clicks":1,"total":5}`, `{"user":"b","clicks":1,"total":7}`)
	run("aggregate: {last: last(page), total: sum(n), mean: avg(n), clicks: count(), pages: count_distinct(page)}",
		`- {"user":"a","page":"y","n":6}`, `{"user":"a","last":"y","total":11,"mean":6,"clicks":2,"pages":1}`)

	// One that is not there any more may have been renamed.
	err := c.once(t, dir, "aggregate: {last: last(page), total: sum(n), average: avg(n), clicks: count(), pages: count_distinct(page)}", 0, nil)
	if want := `operator "totals": state "accumulator": column mean is not there any more: was it renamed? (drop: [mean] in the step gives it up) (--drop-state totals/accumulator drops it with all its columns)`; err == nil || !strings.Contains(err.Error(), want) {
		t.Fatalf("got %v", err)
	}
	err = c.once(t, dir, "aggregate: {last: last(page), total: sum(2 * n), mean: avg(n), clicks: count(), pages: count_distinct(page)}", 0, nil)
	if want := `column total: was sum(n: int), is sum(2 * n: int): give it another name`; err == nil || !strings.Contains(err.Error(), want) {
		t.Fatalf("got %v", err)
	}

	run("drop: [total], aggregate: {last: last(page), mean: avg(n), clicks: count(), pages: count_distinct(page)}",
		`- {"user":"a","page":"z","n":8}`, `{"user":"a","last":"z","mean":7,"clicks":3,"pages":2}`)
	// It comes back, and begins anew for those too whose state still had it.
	run("aggregate: {last: last(page), mean: avg(n), clicks: count(), total: sum(n), pages: count_distinct(page)}",
		`- {"user":"a","page":"z","n":9}`+"\n"+`- {"user":"b","page":"w","n":1}`,
		`{"user":"a","last":"z","mean":7.666666666666667,"clicks":4,"total":9,"pages":2}`, `{"user":"b","last":"w","mean":1,"clicks":2,"total":1,"pages":1}`)
}

// once runs a version of the job until there are the wanted results after so many before, and stops it.
func (c *cluster) once(t *testing.T, dir, step string, before int, want []string) error {
	t.Helper()
	l, err := Parse("columns.yaml", []byte(fmt.Sprintf(columnsJob, step)), LoadOptions{
		Env: env(map[string]string{"KAFKA_BROKERS": c.fake.ListenAddrs()[0]}),
		Set: []string{"checkpoint.storage=" + dir + "/state", "checkpoint.local_dir=" + dir + "/local", "parallelism=2"},
	})
	if err != nil {
		return err
	}
	j, err := l.Graph.Prepare(l.Options)
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- j.Run(context.Background()) }()
	if want == nil {
		select {
		case err := <-done:
			return err
		case <-time.After(30 * time.Second):
			return fmt.Errorf("it runs")
		}
	}
	var got []string
	for _, r := range c.await(t, j, done, before+len(want))[before:] {
		value, _, _ := strings.Cut(r[strings.IndexByte(r, '{'):], " @")
		got = append(got, value)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	j.Stop()
	return <-done
}
