//go:build integration

package integration

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirstream/weir/integration/broker"
	"github.com/weirstream/weir/integration/harness"
	"github.com/weirstream/weir/internal/doctor"
	"github.com/weirstream/weir/job/cli"
)

// documentedACLs are the calls of kafka-acls.sh in docs/kafka.md, one ACL for each operation.
func documentedACLs(t *testing.T) (acls []*kadm.ACLBuilder, operations []string) {
	t.Helper()
	page, err := os.ReadFile("../docs/kafka.md")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(page), "\\\n", " ")
	_, text, _ = strings.Cut(text, `--allow-principal User:clicks "$@"; }`)
	for line := range strings.Lines(text) {
		args := strings.Fields(line)
		if len(args) == 0 || args[0] != "acl" {
			if len(acls) > 0 {
				break
			}
			continue
		}
		pattern := kmsg.ACLResourcePatternTypeLiteral
		if strings.Contains(line, "--resource-pattern-type prefixed") {
			pattern = kmsg.ACLResourcePatternTypePrefixed
		}
		var resource func(*kadm.ACLBuilder) *kadm.ACLBuilder
		for i, arg := range args {
			switch arg {
			case "--topic":
				resource = func(b *kadm.ACLBuilder) *kadm.ACLBuilder { return b.Topics(args[i+1]) }
			case "--group":
				resource = func(b *kadm.ACLBuilder) *kadm.ACLBuilder { return b.Groups(args[i+1]) }
			case "--transactional-id":
				resource = func(b *kadm.ACLBuilder) *kadm.ACLBuilder { return b.TransactionalIDs(args[i+1]) }
			case "--cluster":
				resource = func(b *kadm.ACLBuilder) *kadm.ACLBuilder { return b.Clusters() }
			case "--operation":
				op, err := kmsg.ParseACLOperation(args[i+1])
				if err != nil {
					t.Fatalf("%s: %v", line, err)
				}
				acls = append(acls, resource(kadm.NewACLs()).Allow("User:clicks").AllowHosts().Operations(op).ResourcePatternType(pattern))
				operations = append(operations, args[i+1])
			}
		}
	}
	if len(acls) < 15 {
		t.Fatalf("docs/kafka.md has only %d ACLs: is its list still there?", len(acls))
	}
	return acls, operations
}

// guarded is a cluster that asks who somebody is and what he may do; who does not log in may do everything.
func guarded(t *testing.T) *harness.Cluster {
	return harness.NewCluster(t, broker.Options{
		Users: map[string]string{"clicks": "secret"},
		Properties: map[string]string{
			"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
			"super.users":           "User:ANONYMOUS",
		},
	})
}

// examine runs doctor and returns its report, after a look at its exit code.
func (j *sumsJob) examine(t *testing.T, args ...string) doctor.Report {
	t.Helper()
	p := harness.Program{Path: processor, Args: append([]string{"doctor", j.file(t), "--output", "json", "--address", j.address}, args...), Dir: j.dir}.Start(t)
	code := p.Exit(60 * time.Second)
	var r doctor.Report
	if err := json.Unmarshal([]byte(p.Stdout()), &r); err != nil {
		t.Fatalf("exit code %d: %v:\n%s", code, err, p.Output())
	}
	want := cli.ExitOK
	if r.Worst() == doctor.Error {
		want = cli.ExitFindings
	}
	if code != want {
		t.Errorf("doctor: exit code %d, want %d:\n%s", code, want, p.Output())
	}
	return r
}

// finding returns the findings of a check about what contains a text, one a line.
func finding(r doctor.Report, check, subject string, least doctor.Severity) string {
	var lines []string
	for _, f := range r.Findings {
		if f.Check == check && strings.Contains(f.Subject, subject) && f.Severity >= least {
			lines = append(lines, f.String())
		}
	}
	return strings.Join(lines, "\n")
}

func everyFinding(r doctor.Report) string {
	var b strings.Builder
	for _, f := range r.Findings {
		fmt.Fprintln(&b, f)
	}
	return b.String()
}

// The list of ACLs in docs/kafka.md is what a job needs: it runs with these, and doctor names each that is missing.
func TestAJobRunsUnderTheDocumentedACLs(t *testing.T) {
	t.Parallel()
	cluster := guarded(t)
	j := newSums(t, cluster)
	// The names of the example, so that its commands can be taken as they are.
	j.name, j.in, j.out = "clicks-per-user", "views", "clicks-per-user"
	cluster.Create(t, j.in, 4)
	cluster.Create(t, j.out, 4)
	numbers := harness.Numbers{Seed: harness.Rand(t).Uint64(), Keys: 10}
	cluster.ProduceNumbers(t, j.in, numbers, 0, 100)
	j.brokers = []string{cluster.Node.SASLAddr()}
	j.kafka = []string{"sasl: {mechanism: plain, username: clicks, password: secret}"}
	ctx := harness.Context(t, 2*time.Minute)

	// Nothing is allowed.
	r := j.examine(t)
	for _, subject := range []string{"topic views", "topic clicks-per-user", "topic weir.clicks-per-user.checkpoints", "transactional-id weir.clicks-per-user.0.0", "group clicks-per-user", "cluster"} {
		if finding(r, "access", subject, doctor.Error) == "" {
			t.Errorf("without any ACL, access to %s is not an error:\n%s", subject, everyFinding(r))
		}
	}
	acls, operations := documentedACLs(t)
	for _, acl := range acls {
		if _, err := cluster.Admin.CreateACLs(ctx, acl); err != nil {
			t.Fatal(err)
		}
	}
	if r = j.examine(t); r.Worst() == doctor.Error || finding(r, "access", "", doctor.Note) != "" {
		t.Errorf("with the documented ACLs:\n%s", everyFinding(r))
	}
	// The job makes its topic, runs, is killed, recovers, takes a savepoint, cleans up and stops.
	p := j.start(t)
	j.waitForOutput(t, 100, 60*time.Second)
	p.Kill()
	cluster.ProduceNumbers(t, j.in, numbers, 100, 200)
	p = j.start(t)
	j.waitForOutput(t, 200, 60*time.Second)
	attempts := j.attempts(t)
	if r = j.examine(t, "--deep"); r.Worst() == doctor.Error || finding(r, "access", "", doctor.Note) != "" || !strings.Contains(finding(r, "running", "", doctor.Note), "runs there") {
		t.Errorf("while the job runs:\n%s", everyFinding(r))
	}
	if now := j.attempts(t); now != attempts {
		t.Errorf("doctor disturbed the job: %d attempts before, %d after", attempts, now)
	}
	j.stop(t, p)
	if strings.Contains(p.Output(), "not authorized") {
		t.Errorf("the job missed something:\n%s", p.Output())
	}
	j.checkInvariants(t, 200)

	// Each operation is taken away on all resources. Describe comes with Read, Write and Delete too, so nothing misses it; what
	// doctor only warns of, the job does without.
	for _, round := range []struct {
		operation string
		severity  doctor.Severity
		missed    []string
	}{
		{"Read", doctor.Error, []string{"topic views", "topic weir.clicks-per-user.checkpoints", "group clicks-per-user"}},
		{"Write", doctor.Error, []string{"topic clicks-per-user", "topic weir.clicks-per-user.checkpoints", "transactional-id weir.clicks-per-user.0.3"}},
		{"DescribeConfigs", doctor.Error, []string{"topic clicks-per-user", "topic weir.clicks-per-user.checkpoints", "cluster"}},
		{"Delete", doctor.Warning, []string{"topic weir.clicks-per-user.checkpoints"}},
		{"Describe", doctor.OK, nil},
		{"Create", doctor.OK, nil},
	} {
		each := func(do func(*kadm.ACLBuilder) error) {
			for i, acl := range acls {
				if operations[i] == round.operation {
					if err := do(acl); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		each(func(acl *kadm.ACLBuilder) error { _, err := cluster.Admin.DeleteACLs(ctx, acl); return err })
		// Brokers learn of it a moment later.
		harness.Until(t, 30*time.Second, "doctor misses "+round.operation, func() (bool, string) {
			r = j.examine(t)
			for _, subject := range round.missed {
				if !strings.Contains(finding(r, "access", subject, doctor.Warning), round.operation+" is not allowed") {
					return false, everyFinding(r)
				}
			}
			return true, ""
		})
		if r.Worst() > max(round.severity, doctor.Warning) {
			t.Errorf("without %s:\n%s", round.operation, everyFinding(r))
		}
		if round.severity == doctor.Error {
			j.refused(t, j.program(t), cli.ExitAuthentication)
		} else {
			j.stop(t, j.start(t))
		}
		each(func(acl *kadm.ACLBuilder) error { _, err := cluster.Admin.CreateACLs(ctx, acl); return err })
	}
	harness.Until(t, 30*time.Second, "all is allowed again", func() (bool, string) {
		r = j.examine(t)
		return r.Worst() < doctor.Error, everyFinding(r)
	})
	j.stop(t, j.start(t))
	j.checkInvariants(t, 200)
}
