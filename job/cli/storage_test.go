package cli

import (
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// s3Answering is the location of a savepoint in a service that answers every request with an error.
func s3Answering(t *testing.T, status int, code string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(status)
		fmt.Fprintf(w, "<Error><Code>%s</Code><Message>no</Message></Error>", code)
	}))
	t.Cleanup(server.Close)
	return "s3://backup/savepoint?use_path_style=true&region=us-east-1&endpoint=" + server.URL
}

// That a place cannot be looked at says nothing of the savepoint: exit code 9 and what to do, from every command.
func TestAStoreThatRefusesIsNoSavepointThatDoesNotFit(t *testing.T) {
	b := broker(t)
	file := sums(t, b)
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_CONFIG_FILE", "/none")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/none")
	for _, c := range []struct {
		code   string
		status int
		keys   string
		says   string
	}{
		{"InvalidAccessKeyId", 403, "k", "is AWS_ACCESS_KEY_ID"},
		{"AccessDenied", 403, "k", "they need s3:ListBucket"},
		{"NoSuchBucket", 404, "k", "no such bucket"},
		{"none", 200, "", "no keys: set AWS_ACCESS_KEY_ID"},
	} {
		t.Setenv("AWS_ACCESS_KEY_ID", c.keys)
		t.Setenv("AWS_SECRET_ACCESS_KEY", c.keys)
		at := s3Answering(t, c.status, c.code)
		for _, args := range [][]string{
			{"run", file, "--from", at, "--address", "off"},
			{"run", file, "--set", "checkpoint.storage=" + at, "--address", "off"},
			{"run", file, "--fresh", "--offsets-from", at, "--address", "off"},
			{"savepoint", "validate", at, file},
			{"savepoint", "show", at},
			{"savepoint", "diff", at, at},
			{"savepoint", "list", at},
			{"savepoint", "copy", at, t.TempDir()},
			{"savepoint", "delete", at, "--yes"},
			{"savepoint", "rewrite", at, "--drop-state", "sum", "--dry-run"},
		} {
			says(t, ExitStorage, c.says, args...)
		}
	}
}

func TestASavepointThatIsNotThereIsNotMade(t *testing.T) {
	b := broker(t)
	file := sums(t, b)
	dir := t.TempDir()
	none := filepath.Join(dir, "none")
	for _, args := range [][]string{
		{"run", file, "--from", none, "--address", "off"},
		{"run", file, "--from", "file://" + none, "--address", "off"},
		{"savepoint", "validate", none, file},
		{"savepoint", "show", none},
		{"savepoint", "show", "file://" + none},
		{"savepoint", "diff", none, none},
		{"savepoint", "list", none},
		{"savepoint", "list", "file://" + none},
		{"savepoint", "copy", none, filepath.Join(dir, "to")},
		{"savepoint", "rewrite", none, "--drop-state", "sum", "--to", filepath.Join(dir, "to")},
	} {
		says(t, ExitRestore, "no such", args...)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}

// A backup may be a directory that nobody may write: looking at it leaves it as it is, also the times of its directories.
func TestLookingAtASavepointChangesNothing(t *testing.T) {
	b := broker(t)
	file := sums(t, b)
	j := start(t, file)
	produce(t, b, "numbers", `{"key":"a","n":1}`)
	j.until("results", func() bool { return len(totals(t, b)) == 1 })
	above := t.TempDir()
	dir := filepath.Join(above, "savepoint")
	says(t, ExitOK, dir, "stop", "sums", "--address", j.address, "--savepoint="+dir)
	storage := filepath.Join(filepath.Dir(file), "state")
	backup := filepath.Join(t.TempDir(), "copy")
	says(t, ExitOK, "", "savepoint", "copy", dir, backup)
	before, stored := timesOf(t, above), timesOf(t, storage)
	for _, args := range [][]string{
		{"savepoint", "validate", dir, file},
		{"savepoint", "show", dir},
		{"savepoint", "diff", dir, backup},
		{"savepoint", "list", above},
		{"savepoint", "copy", dir, filepath.Join(t.TempDir(), "another")},
		{"savepoint", "rewrite", dir, "--set-offset", "numbers/0=0", "--brokers", b, "--to", filepath.Join(t.TempDir(), "new")},
		{"checkpoints", "list", file},
		{"checkpoints", "show", file},
		{"checkpoints", "gc", file, "--dry-run"},
		{"offsets", "show", file},
	} {
		says(t, ExitOK, "", args...)
	}
	if after := timesOf(t, above); after != before {
		t.Errorf("the savepoint was changed:\n%s\nwas\n%s", after, before)
	}
	if after := timesOf(t, storage); after != stored {
		t.Errorf("the storage was changed:\n%s\nwas\n%s", after, stored)
	}
	before = timesOf(t, backup) // not of the savepoint itself: a start makes sure that the one of the last stop is complete
	start(t, file, "--from", backup, "--again").stop()
	if after := timesOf(t, backup); after != before {
		t.Errorf("a start has changed the savepoint:\n%s\nwas\n%s", after, before)
	}
}

// A start, validate, gc and doctor tell of another job's storage before anything is done to it.
func TestAnotherJobsStorageIsNamed(t *testing.T) {
	b := broker(t)
	file := sums(t, b)
	j := start(t, file)
	produce(t, b, "numbers", `{"key":"a","n":1}`)
	j.until("results", func() bool { return len(totals(t, b)) == 1 })
	dir := filepath.Join(t.TempDir(), "savepoint")
	says(t, ExitOK, dir, "stop", "sums", "--address", j.address, "--savepoint="+dir)
	other := []string{"--set", "checkpoint.prefix=other", "--set", "checkpoint.group=other"}
	const whose = "that of topic weir.sums.checkpoints on cluster"
	says(t, ExitStorage, whose, append([]string{"run", file, "--address", "off"}, other...)...)
	says(t, ExitFindings, whose, append([]string{"doctor", file}, other...)...)
	says(t, ExitRestore, whose, append([]string{"savepoint", "validate", dir, file}, other...)...)
	code, _, stderr := call("checkpoints", "gc", file)
	if code != ExitOK || strings.Contains(stderr, whose) {
		t.Errorf("the owner itself: exit code %d: %s", code, stderr)
	}
}

// timesOf lists a directory and all that is in it, with the times of their last change.
func timesOf(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil {
			fmt.Fprintln(&b, path, info.ModTime().UnixNano())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
