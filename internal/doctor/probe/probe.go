package probe

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/internal/doctor"
	"github.com/weirstream/weir/internal/runtime"
	"github.com/weirstream/weir/internal/web"
	"github.com/weirstream/weir/source"
)

// Options say how to look.
type Options struct {
	// Timeout bounds each check. Default 10s.
	Timeout time.Duration
	// Deep reads every file of the last checkpoint and compares it with its hash, for which Timeout does not hold.
	Deep bool
	// HTTP is where the job is to listen.
	HTTP web.Options
}

// use is one way in which the job uses a topic.
type use struct {
	topic string
	step  string
	sink  bool
	from  *source.KafkaOptions // of a source
}

// examination is one run of all checks.
type examination struct {
	config *runtime.Config
	opts   Options
	// home is the job's own cluster, first of clusters; the others are those of sources.
	home     *cluster
	clusters []*cluster
	// store is nil if there is none that can be used.
	store checkpoint.Store
	// pointer is the last checkpoint, nil if there is none or it cannot be read; last what is known of it.
	pointer *checkpoint.Pointer
	last    doctor.LastPointer
	process doctor.Process
	running bool
	now     func() time.Time
}

// check is one check: what it is called if it has no answer in time, and how it is made.
type check struct {
	name, subject string
	do            func(context.Context) []doctor.Finding
}

// Examine makes every check that can be made, and reports in the same order always.
func Examine(ctx context.Context, config *runtime.Config, opts Options) doctor.Report {
	if opts.Timeout == 0 {
		opts.Timeout = 10 * time.Second
	}
	e := &examination{config: config, opts: opts, now: time.Now}
	e.findClusters()
	defer e.close()
	report := doctor.Report{Job: config.Job}
	var first []check
	for _, c := range e.clusters {
		first = append(first, check{"broker", c.subject(), func(ctx context.Context) []doctor.Finding { return c.connect(ctx) }})
	}
	first = append(first,
		check{"storage", config.Checkpoint.Storage, e.checkStorage},
		check{"memory", "checkpoint.memory", e.checkMemory},
	)
	http := check{"running", "job", e.askProcess}
	report.Findings = append(report.Findings, e.make(ctx, append(first, http))...)
	// The second round needs what the first has found: where the last checkpoint stands.
	report.Findings = append(report.Findings, e.make(ctx, []check{{"last checkpoint", "last checkpoint", e.checkPointer}})...)
	var rest []check
	for _, c := range e.clusters {
		if c.client == nil {
			continue
		}
		rest = append(rest, check{"access", c.subject(), func(ctx context.Context) []doctor.Finding { return e.checkAccess(ctx, c) }})
	}
	if e.home.client != nil {
		rest = append(rest, check{"broker settings", "cluster", e.checkSettings})
		if e.store != nil {
			rest = append(rest, check{"storage", e.store.String(), e.checkOwner})
		}
	}
	for _, c := range e.clusters {
		if c.client != nil {
			rest = append(rest, check{"topics", c.subject(), func(ctx context.Context) []doctor.Finding { return e.checkTopics(ctx, c) }})
		}
	}
	if e.home.client != nil {
		rest = append(rest,
			check{"readers", "sink topics", e.checkReaders},
			check{"running", "job", e.watchProcess},
		)
	}
	rest = append(rest, check{"disk", "checkpoint.storage", e.checkDisks})
	report.Findings = append(report.Findings, e.make(ctx, rest)...)
	// What is open is a running job's work, so whether one runs is known before.
	if e.home.client != nil {
		report.Findings = append(report.Findings, e.make(ctx, []check{{"transactions", "job and topics", e.checkTransactions}})...)
	}
	return report
}

// make makes checks beside each other and returns their findings in order.
func (e *examination) make(ctx context.Context, checks []check) []doctor.Finding {
	results := make([][]doctor.Finding, len(checks))
	var wg sync.WaitGroup
	for i, c := range checks {
		wg.Go(func() { results[i] = e.within(ctx, c) })
	}
	wg.Wait()
	var all []doctor.Finding
	for _, r := range results {
		all = append(all, r...)
	}
	return all
}

// within makes a check and gives up waiting shortly after its deadline: a directory on a dead network disk answers to no
// context.
func (e *examination) within(ctx context.Context, c check) []doctor.Finding {
	limit := e.opts.Timeout
	if e.opts.Deep && c.name == "last checkpoint" {
		limit = time.Hour
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	done := make(chan []doctor.Finding, 1)
	go func() { done <- c.do(ctx) }()
	late := time.NewTimer(limit + time.Second)
	defer late.Stop()
	select {
	case found := <-done:
		return found
	case <-late.C:
		return []doctor.Finding{{Severity: doctor.Error, Check: c.name, Subject: c.subject, Text: fmt.Sprintf("no answer within %s", limit),
			Remedy: "find out what does not answer; --timeout gives it more time"}}
	}
}

func (e *examination) close() {
	for _, c := range e.clusters {
		if c.client != nil {
			c.client.Close()
		}
	}
	if e.store != nil {
		_ = e.store.Close() // nothing was kept open for writing
	}
}
