//go:build integration

package integration

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/integration/gateway"
	"github.com/weirstream/weir/integration/harness"
	"github.com/weirstream/weir/job/cli"
)

// onS3 is the job's program with its storage in a real S3 server and a local directory of its own.
func (j *sumsJob) onS3(t *testing.T, s *gateway.Server, args ...string) harness.Program {
	t.Helper()
	p := j.program(t, append([]string{"--set", "checkpoint.storage=" + s.Location("state"), "--set", "checkpoint.local_dir=" + t.TempDir()}, args...)...)
	p.Env = gateway.Keys()
	return p
}

// A job whose files are on a real S3 server is killed and restored on a machine that has nothing of it. Its savepoint is a
// place in the bucket, and all that a new lineage needs.
func TestAJobOnS3IsRestoredWithoutLocalState(t *testing.T) {
	t.Parallel()
	s := gateway.Start(t)
	j := newSums(t, shared(t))
	j.checkpoint = []string{"inline_threshold: 1", "base_after: 40KiB", "retained: 2"}
	numbers := harness.Numbers{Seed: harness.Rand(t).Uint64(), Keys: 500}
	feed := j.cluster.StartFeed(t, j.in, numbers, 1000)
	var p *harness.Process
	for range 3 {
		p = j.onS3(t, s).Start(t)
		j.waitReady(t, p)
		j.waitForMore(t, 1000)
		p.Kill()
	}
	p = j.onS3(t, s).Start(t)
	j.waitReady(t, p)
	sent := feed.Stop()
	j.waitForOutput(t, sent, time.Minute)

	from := s.Location("savepoints/first")
	create := harness.Program{
		Path: processor, Args: []string{"savepoint", "create", filepath.Join(j.dir, "sums.yaml"), "--address", j.address, "--dir", from}, Env: gateway.Keys(),
	}
	saving := create.Start(t)
	if code := saving.Exit(time.Minute); code != 0 {
		t.Fatalf("savepoint create: exit code %d:\n%s", code, saving.Output())
	}
	j.cluster.ProduceNumbers(t, j.in, numbers, sent, sent+1000)
	j.waitForOutput(t, sent+1000, time.Minute)
	j.stop(t, p)
	j.checkInvariants(t, sent+1000)

	// The checkpoints are gone, and everything local: the savepoint has all.
	if err := os.RemoveAll(filepath.Join(s.Bucket, "state")); err != nil {
		t.Fatal(err)
	}
	before := j.results(t)
	p = j.onS3(t, s, "--from", from).Start(t)
	j.waitReady(t, p)
	j.waitForOutput(t, int64(before.Len())+1000, time.Minute)
	j.stop(t, p)
	j.checkContinuation(t, before, int(sent), int(sent+1000))
}

// The S3 server is killed and started again after a while, and frozen for a while: the checkpoint waits, nothing else ends, and
// nothing is lost.
func TestAnS3ServerMayBeAwayForAWhile(t *testing.T) {
	t.Parallel()
	s := gateway.Start(t)
	j := newSums(t, shared(t))
	j.checkpoint = []string{"inline_threshold: 1", "timeout: 60s", "transaction_timeout: 150s"}
	feed := j.cluster.StartFeed(t, j.in, harness.Numbers{Seed: harness.Rand(t).Uint64(), Keys: 100}, 500)
	p := j.onS3(t, s).Start(t)
	j.waitReady(t, p)
	j.waitForMore(t, 500)

	s.Kill()
	harness.Until(t, 30*time.Second, "calls that are tried again", func() (bool, string) {
		_, page := harness.Get(j.address, "/metrics")
		retries, _ := harness.Metric(page, "weir_storage_retries_total")
		return retries >= 3, fmt.Sprint(retries)
	})
	s.Restart(t)
	j.waitForMore(t, 500)

	s.Freeze()
	harness.For(t, 3*time.Second)
	s.Thaw()
	j.waitForMore(t, 500)

	sent := feed.Stop()
	j.waitForOutput(t, sent, time.Minute)
	j.stop(t, p)
	j.checkInvariants(t, sent)
	if n := j.attempts(t); n != 1 {
		t.Errorf("%d attempts, want 1", n)
	}
}

// An S3 server that is away for longer than a checkpoint may take ends attempts, with the cause, and not the job: it goes on
// by itself when the server is back.
func TestAnS3ServerThatStaysAwayEndsNoJob(t *testing.T) {
	t.Parallel()
	s := gateway.Start(t)
	j := newSums(t, shared(t))
	j.checkpoint = []string{"inline_threshold: 1", "timeout: 3s"}
	feed := j.cluster.StartFeed(t, j.in, harness.Numbers{Seed: harness.Rand(t).Uint64(), Keys: 100}, 500)
	p := j.onS3(t, s).Start(t)
	j.waitReady(t, p)
	j.waitForMore(t, 500)
	s.Kill()
	harness.Until(t, time.Minute, "restarts", func() (bool, string) {
		_, page := harness.Get(j.address, "/metrics")
		restarts, _ := harness.Metric(page, "weir_restarts_total")
		return restarts >= 2, fmt.Sprint(restarts)
	})
	if want := "http://" + s.Address + " does not answer (connection refused)"; !strings.Contains(p.Stderr(), want) {
		t.Errorf("no line says %q:\n%s", want, p.Stderr())
	}
	s.Restart(t)
	j.waitForMore(t, 500)
	sent := feed.Stop()
	j.waitForOutput(t, sent, time.Minute)
	j.stop(t, p)
	j.checkInvariants(t, sent)
}

// What keeps a job from its bucket is one line and exit code 9, within seconds; doctor says the same.
func TestWhatIsWrongWithAnS3StorageIsOneLine(t *testing.T) {
	t.Parallel()
	s := gateway.Start(t)
	s.AddUser(t, "weir-stranger", "weir-stranger-secret")
	j := newSums(t, shared(t))
	nobody := fmt.Sprintf("127.0.0.1:%d", harness.FreePort(t))
	for _, c := range []struct {
		what, location string
		keys           []string
		want           string
	}{
		{"unknown key", s.Location("state"), gateway.KeysOf("nobody", "hidden-secret"), "the service does not know the access key (InvalidAccessKeyId)"},
		{"wrong secret", s.Location("state"), gateway.KeysOf(gateway.AccessKey, "hidden-secret"), "the secret key is not that of the access key (SignatureDoesNotMatch)"},
		{"no keys", s.Location("state"), gateway.KeysOf("", ""), "no keys: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"},
		{"not allowed", s.Location("state"), gateway.KeysOf("weir-stranger", "weir-stranger-secret"), "the keys are not allowed to do this (AccessDenied): they need s3:ListBucket"},
		{"no bucket", s.LocationIn("another", "state"), gateway.Keys(), "no such bucket at http://" + s.Address + " (NoSuchBucket)"},
		{"wrong region", strings.Replace(s.Location("state"), "us-east-1", "eu-west-1", 1), gateway.Keys(), "not in"},
		{"nobody there", strings.Replace(s.Location("state"), "127.0.0.1%3A"+s.Address[len("127.0.0.1:"):], "127.0.0.1%3A"+nobody[len("127.0.0.1:"):], 1), gateway.Keys(), "http://" + nobody + " does not answer (connection refused)"},
	} {
		p := j.program(t, "--set", "checkpoint.storage="+c.location)
		p.Env = c.keys
		began := time.Now()
		run := p.Start(t)
		if code := run.Exit(30 * time.Second); code != cli.ExitStorage {
			t.Errorf("%s: exit code %d, want %d:\n%s", c.what, code, cli.ExitStorage, run.Output())
		}
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("%s: after %s", c.what, took)
		}
		oneLine(t, run, "storage s3://", c.want)
		doctor := harness.Program{Path: processor, Args: []string{"doctor", filepath.Join(j.dir, "sums.yaml"), "--json", "--set", "checkpoint.storage=" + c.location}, Env: c.keys}.Start(t)
		if code := doctor.Exit(time.Minute); code != cli.ExitFindings || !strings.Contains(doctor.Output(), c.want) {
			t.Errorf("%s: doctor ends with %d:\n%s", c.what, code, doctor.Output())
		}
		for _, secret := range []string{"hidden-secret", gateway.SecretKey, "weir-stranger-secret"} {
			if strings.Contains(run.Output()+doctor.Output(), secret) {
				t.Errorf("%s: a secret is printed", c.what)
			}
		}
	}
}

// Of writers of one name on a real S3 server exactly one succeeds, whether the file goes in one piece or in parts; and a long
// file reads back as it was.
func TestOneOfManyWritersToS3Succeeds(t *testing.T) {
	s := gateway.Start(t)
	for _, line := range gateway.Keys() {
		name, value, _ := strings.Cut(line, "=")
		t.Setenv(name, value)
	}
	ctx := harness.Context(t, 2*time.Minute)
	store, err := checkpoint.OpenStore(ctx, s.Location("race"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for round := range 25 {
		size, writers := 100, 8
		if round%10 == 9 {
			size, writers = 9<<20, 4
		}
		name := fmt.Sprint("savepoint-", round, "/manifest.json")
		contents := make([][]byte, writers)
		won := make([]bool, writers)
		var group sync.WaitGroup
		for i := range writers {
			contents[i] = bytes.Repeat([]byte{byte('a' + i)}, size)
			group.Go(func() {
				err := store.Put(ctx, name, bytes.NewReader(contents[i]))
				if won[i] = err == nil; err != nil && !errors.Is(err, fs.ErrExist) {
					t.Error(err)
				}
			})
		}
		group.Wait()
		var got bytes.Buffer
		if err := store.Get(ctx, name, &got); err != nil {
			t.Fatal(err)
		}
		winners := 0
		for i := range won {
			if won[i] {
				winners++
				if !bytes.Equal(got.Bytes(), contents[i]) {
					t.Errorf("round %d: the file is not that of the writer who has succeeded", round)
				}
			}
		}
		if winners != 1 {
			t.Errorf("round %d: %d writers have succeeded", round, winners)
		}
	}
	files := checkpoint.NewFiles(store, nil)
	long := make([]byte, 25<<20+17)
	rng := rand.NewChaCha8([32]byte{1})
	_, _ = rng.Read(long)
	file, err := files.UploadBytes(ctx, func(h checkpoint.Hash) string { return checkpoint.FileName("j", 0, "a", 1, h, "base") }, long)
	if err != nil {
		t.Fatal(err)
	}
	got, err := files.ReadVerified(ctx, file)
	if err != nil || !bytes.Equal(got, long) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	// More files than a page of the listing has.
	var group sync.WaitGroup
	for worker := range 8 {
		group.Go(func() {
			for i := worker; i < 1005; i += 8 {
				if err := store.Put(ctx, fmt.Sprintf("many/%04d", i), strings.NewReader("x")); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	if list, err := store.List(ctx, "many/"); len(list) != 1005 || err != nil {
		t.Errorf("%d files are listed, %v", len(list), err)
	}
	if err := store.Delete(ctx, "many/0000"); err != nil {
		t.Error(err)
	}
	if err := store.Delete(ctx, "many/0000"); err != nil {
		t.Error(err)
	}
}

// Two jobs write a savepoint to one place at the same time: one is there, whole, and the other job is told.
func TestTwoSavepointsToOnePlaceInS3(t *testing.T) {
	t.Parallel()
	s := gateway.Start(t)
	const jobs = 2
	var creating [jobs]*harness.Process
	var running [jobs]*harness.Process
	var all [jobs]*sumsJob
	to := s.Location("savepoints/same")
	for i := range jobs {
		j := newSums(t, shared(t))
		j.checkpoint = []string{"inline_threshold: 1"}
		j.cluster.ProduceNumbers(t, j.in, harness.Numbers{Seed: uint64(i), Keys: 50}, 0, 500)
		running[i] = j.onS3(t, s).Start(t)
		j.waitReady(t, running[i])
		j.waitForOutput(t, 500, time.Minute)
		all[i] = j
	}
	for i, j := range all {
		creating[i] = harness.Program{
			Path: processor, Args: []string{"savepoint", "create", filepath.Join(j.dir, "sums.yaml"), "--address", j.address, "--dir", to}, Env: gateway.Keys(),
		}.Start(t)
	}
	winner, winners := 0, 0
	for i, p := range creating {
		switch code := p.Exit(time.Minute); {
		case code == 0:
			winner, winners = i, winners+1
		case !strings.Contains(p.Output(), "another savepoint"):
			t.Errorf("exit code %d:\n%s", code, p.Output())
		}
	}
	if winners != 1 {
		t.Fatalf("%d savepoints were written to one place", winners)
	}
	for i, j := range all {
		j.stop(t, running[i])
	}
	again := all[winner].onS3(t, s, "--from", to).Start(t)
	all[winner].waitReady(t, again)
	all[winner].stop(t, again)
}
