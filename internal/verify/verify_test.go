package verify_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/job"
)

// A job that was killed again and again, and still runs, is what the loop computes.
func TestAKilledJobIsVerified(t *testing.T) {
	c := newCluster(t, "in", "out")
	o := c.options()
	for round := range 5 {
		c.feed(round*400, (round+1)*400, 7)
		r := c.start(sums(in(), "out"), o)
		r.await("out", round*400+100)
		if round < 4 {
			r.crash()
			continue
		}
		r.await("out", 2000)
		report := c.verified(sums(in(), "out"), o, job.VerifyOptions{})
		if report.Records < 1900 {
			t.Errorf("%d records were computed", report.Records)
		}
		r.stop()
	}
	report := c.verified(sums(in(), "out"), o, job.VerifyOptions{})
	out := report.Outputs[0]
	if report.Records != 2000 || out.Expected != 2000 || out.Seen != 2000 || out.Equal != 2000 || report.Checkpoint != report.Until {
		t.Errorf("got %+v, output %+v", report, out)
	}
}

// A job is verified again and again while it works; results of checkpoints that come meanwhile are neither made up nor
// missing.
func TestARunningJobIsVerified(t *testing.T) {
	c := newCluster(t, "in", "out")
	o := c.options()
	c.feed(0, 100, 7)
	r := c.start(sums(in(), "out"), o)
	r.await("out", 100)
	moved := false
	for round := range 10 {
		done := make(chan struct{})
		go func() {
			defer close(done)
			for i := range 20 {
				c.feed(100+round*400+i*20, 100+round*400+(i+1)*20, 7)
			}
		}()
		report := c.verified(sums(in(), "out"), o, job.VerifyOptions{})
		moved = moved || report.Until > report.Checkpoint
		<-done
	}
	r.await("out", 4100)
	r.stop()
	if !moved {
		t.Log("no checkpoint came between the two pointers")
	}
	c.verified(sums(in(), "out"), o, job.VerifyOptions{})
}

// What is taken away, repeated or changed in the output is reported with its key, its partition and its offset.
func TestPlantedFaultsAreReported(t *testing.T) {
	c := newCluster(t, "in", "out")
	c.feed(0, 40, 4)
	o := c.options()
	c.run(sums(bounded(), "out"), o)
	plant := map[string]func(r *kgo.Record) []*kgo.Record{
		"lost": func(r *kgo.Record) []*kgo.Record {
			if string(r.Value) == "15" { // k1: 1, 6, 15
				return nil
			}
			return []*kgo.Record{r}
		},
		"doubled": func(r *kgo.Record) []*kgo.Record {
			if string(r.Value) == "15" {
				return []*kgo.Record{r, r}
			}
			return []*kgo.Record{r}
		},
		"different": func(r *kgo.Record) []*kgo.Record {
			if string(r.Value) == "15" {
				r.Value = []byte("16")
			}
			return []*kgo.Record{r}
		},
		"timestamp": func(r *kgo.Record) []*kgo.Record {
			if string(r.Value) == "15" {
				r.Timestamp = r.Timestamp.Add(1e6)
			}
			return []*kgo.Record{r}
		},
		"header": func(r *kgo.Record) []*kgo.Record {
			if string(r.Value) == "15" {
				r.Headers = []kgo.RecordHeader{{Key: "a"}}
			}
			return []*kgo.Record{r}
		},
		"made-up": func(r *kgo.Record) []*kgo.Record {
			if string(r.Value) == "15" {
				return []*kgo.Record{r, {Partition: r.Partition, Key: []byte("k1"), Value: []byte("x"), Timestamp: r.Timestamp},
					{Partition: 3, Key: []byte("nobody"), Timestamp: r.Timestamp}}
			}
			return []*kgo.Record{r}
		},
		"null": func(r *kgo.Record) []*kgo.Record {
			if string(r.Value) == "15" {
				r.Value = nil
			}
			return []*kgo.Record{r}
		},
	}
	at := where(c.read("out"), "15")
	want := map[string]string{
		"lost":      "lost: topic lost partition P key \"k1\": want \"15\"; from topic in partition 1 offset 2",
		"doubled":   "doubled: topic doubled partition P offset NEXT key \"k1\": \"15\"",
		"different": "different: topic different partition P offset AT key \"k1\": want \"15\", got \"16\"; from topic in partition 1 offset 2",
		"timestamp": "different: topic timestamp partition P offset AT key \"k1\": want \"15\", got \"15\" (the timestamp is 10 and should be 9); from topic in partition 1 offset 2",
		"header":    "different: topic header partition P offset AT key \"k1\": want \"15\", got \"15\" (the headers differ); from topic in partition 1 offset 2",
		"made-up":   "made up: topic made-up partition 3 offset X key \"nobody\": null",
		"null":      "different: topic null partition P offset AT key \"k1\": want \"15\", got null; from topic in partition 1 offset 2",
	}
	for kind, change := range plant {
		t.Run(kind, func(t *testing.T) {
			c.rewrite("out", kind, change)
			report, err := c.verify(sums(in(), kind), o, job.VerifyOptions{})
			if err != nil {
				t.Fatal(err)
			}
			records := c.read(kind)
			offset := func(value string) string {
				if r := where(records, value); r != nil {
					return fmt.Sprint(r.Offset)
				}
				return "-"
			}
			changed := map[string]string{"different": "16", "null": ""}[kind]
			if kind != "different" && kind != "null" {
				changed = "15"
			}
			next := "-"
			if r := where(records, "15"); r != nil {
				next = fmt.Sprint(r.Offset + 1)
			}
			r := strings.NewReplacer("NEXT", next, "AT", offset(changed), "P ", fmt.Sprint(at.Partition, " "), "X", offset(""))
			got := findings(report)
			if expect := r.Replace(want[kind]); !slices.Contains(got, expect) {
				t.Errorf("want %s\ngot  %s", expect, strings.Join(got, "\n     "))
			}
			if n := map[string]int{"made-up": 2}[kind]; len(got) != max(1, n) {
				t.Errorf("%d findings: %s", len(got), strings.Join(got, "\n"))
			}
			if report.Err() == nil {
				t.Error("the report has no error")
			}
		})
	}
}

func where(records []*kgo.Record, value string) *kgo.Record {
	for _, r := range records {
		if string(r.Value) == value {
			return r
		}
	}
	return nil
}
