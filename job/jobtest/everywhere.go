package jobtest

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/weirstream/weir/internal/fault"
	"github.com/weirstream/weir/job"
	"github.com/weirstream/weir/stream"
)

// CrashEverywhere runs a job for each step of [Steps], crashed whenever it takes that step for the first time: in a first
// start, after a start from a savepoint, and after a restart. In the end the committed output must be want: by topic and
// key the values, in order; those without a key in any order. A nil want is what the job writes when it is not crashed.
//
// build makes the job's graph, anew for each run, as each process does. The input is by topic; a third of it is there at
// each start, all of it at the first if the job stops at the end of its input. Options may change the job's, but not where
// it starts. Checkpoints are 2 ms apart, and their state is in files and bases, unless options say otherwise. Steps that
// the job does not take (a stateless one has no base) are logged.
func CrashEverywhere(t *testing.T, build func() *job.Graph, input map[string][]stream.Record, want map[string]map[string][]string, opts ...Option) {
	t.Helper()
	s := scenario{build: build, input: input, opts: append([]Option{Configure(small)}, opts...)}
	if want == nil {
		t.Run("uncrashed", func(t *testing.T) { want, _ = s.play(t, "") })
	}
	for _, step := range Steps() {
		t.Run(string(step), func(t *testing.T) {
			t.Parallel()
			got, crashes := s.play(t, step)
			if crashes == 0 {
				t.Logf("the job does not take the step %s", step)
			}
			for topic, values := range want {
				if err := diff(got[topic], values); err != nil {
					t.Errorf("crashed %d times at %s: topic %s: %v", crashes, step, topic, err)
				}
			}
		})
	}
}

// small makes state of any size take every step.
func small(o *job.Options) {
	k := &o.Checkpoint
	k.Interval, k.InlineThreshold, k.BaseAfter = 2*time.Millisecond, 1, 1
}

// scenario is a job and its input.
type scenario struct {
	build func() *job.Graph
	input map[string][]stream.Record
	opts  []Option
}

// phases is how often a scenario starts the job, apart from crashes.
const phases = 3

// play runs the scenario and returns what the job's topics hold in the end, and how many crashes there were.
func (s *scenario) play(t *testing.T, step Step) (out map[string]map[string][]string, crashes int) {
	p := &player{scenario: s, Cluster: New(t), step: step}
	for i := range phases {
		p.phase(i)
	}
	out = map[string]map[string][]string{}
	for _, topic := range sinkTopics(p.last.job.Config().Graph) {
		out[topic] = p.Read(topic).ByKey()
	}
	return out, p.crashes
}

type player struct {
	*scenario
	*Cluster
	step      Step
	last      *Run
	savepoint string // that the next phase starts from
	tries     int
	crashes   int
}

// phase starts the job, and again if it crashes, until it has processed its share of the input.
func (p *player) phase(i int) {
	p.t.Helper()
	opts := slices.Clone(p.opts)
	if i == 0 {
		g := p.build()
		if prepared, err := g.Prepare((&Run{c: p.Cluster}).options(job.Options{})); err != nil {
			p.t.Fatal(err)
		} else if bounded(prepared.Config().Graph) {
			for topic, records := range p.input {
				p.Produce(topic, records...)
			}
			p.scenario = &scenario{build: p.build, opts: p.opts}
		}
	}
	for topic, records := range p.input {
		n := len(records)
		p.Produce(topic, records[i*n/phases:(i+1)*n/phases]...)
	}
	if i == 1 && p.savepoint != "" {
		from := p.savepoint
		opts = append(opts, Configure(func(o *job.Options) { o.Start.From = from }))
	}
	if p.step != "" {
		opts = append(opts, CrashAt(p.step, 1))
	}
	err := p.once(opts)
	if errors.Is(err, ErrCrashed) {
		p.crashes++
		err = p.once(opts[:len(opts)-1])
	}
	if err != nil {
		p.t.Fatalf("start %d: job %s: %v", i+1, p.last.name, err)
	}
}

// once runs the job until all is processed, with a savepoint after that; its error is what ended the job before.
func (p *player) once(opts []Option) error {
	p.t.Helper()
	p.tries++
	r := p.Run(p.build(), opts...)
	p.last = r
	if err := r.WaitCommitted(); err != nil {
		return err
	}
	r.mu.Lock()
	base := r.changed && r.job.Config().Checkpoint.BaseAfter == 1
	r.mu.Unlock()
	if base { // then one has been begun
		if err := r.waitFor(fault.BaseUploaded); err != nil {
			return err
		}
	}
	dir := filepath.Join(p.dir, fmt.Sprint("savepoint-", p.tries))
	if err := r.Savepoint(dir); err == nil {
		p.savepoint = dir
	}
	return r.Stop()
}
