package cli

import (
	"context"
	"encoding/json"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/internal/doctor"
)

// examine runs doctor and returns what it found, and the exit code.
func examine(t *testing.T, args ...string) (doctor.Report, int) {
	t.Helper()
	code, stdout, stderr := call(append([]string{"doctor", "--output", "json"}, args...)...)
	var r doctor.Report
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		t.Fatalf("exit code %d: %v: %s%s", code, err, stdout, stderr)
	}
	if sick := r.Worst() == doctor.Error; sick != (code == ExitFindings) || !sick && code != ExitOK {
		t.Errorf("exit code %d, and the worst finding is of severity %s: %s", code, r.Worst(), stderr)
	}
	return r, code
}

// say returns the findings that are at least so severe and contain a text.
func say(r doctor.Report, least doctor.Severity, text string) string {
	var lines []string
	for _, f := range r.Findings {
		if f.Severity >= least && strings.Contains(f.String(), text) {
			lines = append(lines, f.String())
		}
	}
	return strings.Join(lines, "\n")
}

// tree lists what is below a directory, "" if it is not there.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if !os.IsNotExist(err) {
			names = append(names, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(names, "\n")
}

func admin(t *testing.T, broker string) *kadm.Client {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(broker))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return kadm.NewClient(cl)
}

func TestDoctorChangesNothingBeforeTheFirstStart(t *testing.T) {
	b := broker(t)
	file := sums(t, b)
	dir := filepath.Dir(file)
	before := tree(t, dir)
	if r, _ := examine(t, file, "--address", "off"); r.Worst() > doctor.Note {
		t.Errorf("%s", say(r, doctor.Warning, ""))
	}
	if after := tree(t, dir); after != before {
		t.Errorf("before\n%s\nafter\n%s", before, after)
	}
	topics, err := admin(t, b).ListTopics(t.Context())
	if err != nil || len(topics) != 2 {
		t.Errorf("topics %v, %v", topics.Names(), err)
	}
	ids, err := admin(t, b).ListTransactions(t.Context(), nil, nil)
	if err != nil || len(ids) != 0 {
		t.Errorf("transactional IDs %v, %v", ids.TransactionalIDs(), err)
	}
}

func TestDoctorDoesNotDisturbARunningJob(t *testing.T) {
	b := broker(t)
	file := sums(t, b, "client_id: x")
	storage := filepath.Join(filepath.Dir(file), "state")
	j := start(t, file)
	produce(t, b, "numbers", `{"key":"a","n":1}`)
	j.until("a result", func() bool { return len(totals(t, b)) == 1 })
	reader, err := kgo.NewClient(kgo.SeedBrokers(b), kgo.ConsumerGroup("dashboard"), kgo.ConsumeTopics("totals"), kgo.DisableFetchSessions())
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if fetches := reader.PollFetches(t.Context()); fetches.NumRecords() == 0 {
		t.Fatal(fetches.Err())
	}
	if err := reader.CommitUncommittedOffsets(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := tree(t, storage)
	r, code := examine(t, file, "--address", j.address, "--deep")
	if code != ExitOK {
		t.Errorf("%s", say(r, doctor.Warning, ""))
	}
	for _, want := range []string{"the job runs there", "read by dashboard"} {
		if say(r, doctor.Note, want) == "" {
			t.Errorf("no word of %q:\n%s", want, say(r, doctor.OK, ""))
		}
	}
	if after := tree(t, storage); after != before {
		t.Errorf("before\n%s\nafter\n%s", before, after)
	}
	produce(t, b, "numbers", `{"key":"a","n":2}`)
	j.until("the next result", func() bool { return len(totals(t, b)) == 2 })
	j.stop()
	if strings.Contains(j.err.String(), "restart") {
		t.Errorf("the job was disturbed:\n%s", j.err.String())
	}
}

// A job that commits every few milliseconds has always something open, and deletes files of checkpoints while doctor looks.
func TestDoctorFindsNothingWrongWithABusyJob(t *testing.T) {
	b := broker(t)
	file := sums(t, b)
	busy := []string{file, "--set", "checkpoint.interval=10ms", "--set", "checkpoint.inline_threshold=1B", "--set", "checkpoint.base_after=1kB"}
	j := start(t, busy...)
	feeding, done := context.WithCancel(t.Context())
	var feeder sync.WaitGroup
	feeder.Go(func() {
		for feeding.Err() == nil {
			produce(t, b, "numbers", `{"key":"a","n":1}`, `{"key":"b","n":1}`)
		}
	})
	for i := range 6 {
		address := j.address
		if i%2 == 1 {
			address = "off" // its transactions tell that it runs
		}
		r, _ := examine(t, append(busy, "--address", address)...)
		for _, text := range []string{"warning: ", "error: ", "marker", "left open"} {
			if lines := say(r, doctor.OK, text); lines != "" {
				t.Errorf("address %s:\n%s", address, lines)
			}
		}
	}
	done()
	feeder.Wait()
	j.stop()
}

// A check has a deadline: what cannot be reached is a line of the table, and the rest is checked all the same.
func TestDoctorSaysWhatItCanWithoutABroker(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for name, address := range map[string]string{"refuses": "127.0.0.1:1", "never answers": silent.Addr().String()} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			r, code := examine(t, sums(t, address, "start_timeout: 1s"), "--address", "off", "--timeout", "2s")
			if code != ExitFindings || say(r, doctor.Error, address) == "" {
				t.Errorf("exit code %d:\n%s", code, say(r, doctor.OK, ""))
			}
			for _, check := range []string{"storage:", "memory:", "disk:"} {
				if say(r, doctor.OK, check) == "" {
					t.Errorf("no %s", check)
				}
			}
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("it took %s", took)
			}
		})
	}
}

func TestDoctorNamesWhatIsWrong(t *testing.T) {
	b := broker(t, kfake.NumBrokers(3))
	file := sums(t, b)
	dir := filepath.Dir(file)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	if err := os.WriteFile(filepath.Join(dir, "a-file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		args []string
		says string
	}{
		{"a source topic", []string{"--set", "source.in.topics=nothing"}, "source topic: topic nothing: it does not exist"},
		{"a sink topic", []string{"--set", "sink.out.topic=nothing"}, "sink topic: topic nothing: it does not exist"},
		{"the storage is a file", []string{"--set", "checkpoint.storage=" + filepath.Join(dir, "a-file", "x")}, "storage"},
		{"more replicas than brokers", []string{"--set", "checkpoint.topic_replication=9"}, "the brokers would not make it"},
		{"more time than the brokers allow", []string{"--set", "checkpoint.transaction_timeout=20m"}, "transaction.max.timeout.ms"},
		{"a port in use", []string{"--address", taken.Addr().String()}, "running: http://" + taken.Addr().String()},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := append([]string{file}, c.args...)
			if c.name != "a port in use" {
				args = append(args, "--address", "off")
			} else {
				args = append(args, "--timeout", "1s") // what listens there does not answer
			}
			r, code := examine(t, args...)
			if code != ExitFindings || say(r, doctor.Error, c.says) == "" {
				t.Errorf("exit code %d, want an error about %q:\n%s", code, c.says, say(r, doctor.OK, ""))
			}
		})
	}
}

// After the job has stood still: what it would find missing is found before.
func TestDoctorFindsWhatIsMissingOfACheckpoint(t *testing.T) {
	b := broker(t)
	file := sums(t, b)
	produce(t, b, "numbers", `{"key":"a","n":1}`, `{"key":"a","n":2}`)
	// Every change goes into a file.
	j := start(t, file, "--set", "checkpoint.inline_threshold=1B")
	j.until("results", func() bool { return len(totals(t, b)) == 2 })
	j.stop()
	if r, code := examine(t, file, "--address", "off", "--deep"); code != ExitOK || say(r, doctor.OK, "were read and have their hashes") == "" {
		t.Fatalf("exit code %d:\n%s", code, say(r, doctor.OK, ""))
	}
	// Another directory than the one that it used.
	r, _ := examine(t, file, "--address", "off", "--set", "checkpoint.storage="+t.TempDir())
	if say(r, doctor.Error, "none of its") == "" {
		t.Errorf("%s", say(r, doctor.OK, ""))
	}
	// One byte of a file is another, which only --deep sees.
	var changed string
	err := filepath.WalkDir(filepath.Join(filepath.Dir(file), "state"), func(path string, e fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".delta") {
			changed = path
		}
		return err
	})
	if err != nil || changed == "" {
		t.Fatal("no delta", err)
	}
	content, err := os.ReadFile(changed)
	if err != nil {
		t.Fatal(err)
	}
	content[len(content)-1] ^= 1
	if err := os.WriteFile(changed, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if r, code := examine(t, file, "--address", "off"); code != ExitOK {
		t.Errorf("%s", say(r, doctor.Error, ""))
	}
	if r, _ := examine(t, file, "--address", "off", "--deep"); say(r, doctor.Error, filepath.Base(changed)) == "" {
		t.Errorf("%s", say(r, doctor.OK, ""))
	}
	// It is gone, and others are there.
	if err := os.Rename(changed, changed+"-x"); err != nil {
		t.Fatal(err)
	}
	if r, _ := examine(t, file, "--address", "off"); say(r, doctor.Error, filepath.Base(changed)) == "" {
		t.Errorf("%s", say(r, doctor.OK, ""))
	}
	// The records that come next are gone.
	produce(t, b, "numbers", `{"key":"b","n":1}`, `{"key":"c","n":2}`, `{"key":"d","n":2}`, `{"key":"e","n":2}`)
	ends, err := admin(t, b).ListEndOffsets(t.Context(), "numbers")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := admin(t, b).DeleteRecords(t.Context(), ends.Offsets()); err != nil {
		t.Fatal(err)
	}
	if r, _ := examine(t, file, "--address", "off"); say(r, doctor.Error, "records expired before they were read") == "" {
		t.Errorf("%s", say(r, doctor.OK, ""))
	}
}

func TestDoctorPrintsATable(t *testing.T) {
	code, stdout, stderr := call("doctor", sums(t, broker(t)), "--address", "off", "--set", "sink.out.topic=nothing")
	if code != ExitFindings || stderr != "processor: 1 finding is an error\n" {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	for _, want := range []string{"error  sink topic", "-> create it: processor topics create nothing:PARTITIONS", "job sums: 1 error"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in\n%s", want, stdout)
		}
	}
	for line := range strings.Lines(stdout) {
		if len(line) > 240 {
			t.Errorf("a line of %d characters: %s", len(line), line)
		}
	}
}
