package cli

import (
	"strings"
	"testing"
)

// An unset variable of a script is a mistake, not a start without the flag: --fresh --offsets-from "" would write all results
// once more.
func TestAnEmptyValueIsAMistake(t *testing.T) {
	for _, c := range []struct {
		says string
		args []string
	}{
		{"run: --from has an empty value", []string{"run", "job.yaml", "--from", ""}},
		{"run: --from has an empty value", []string{"run", "job.yaml", "--from="}},
		{"run: --offsets-from has an empty value", []string{"run", "job.yaml", "--fresh", "--offsets-from", ""}},
		{"run: --on-incompatible has an empty value", []string{"run", "job.yaml", "--on-incompatible="}},
		{"run: --drop-state has an empty value", []string{"run", "job.yaml", "--drop-state", "count", "--drop-state", ""}},
		{"run: --set has an empty value", []string{"run", "job.yaml", "--set", ""}},
		{"run: invalid", []string{"run", "job.yaml", "--fresh="}},
		{"run: an argument is empty", []string{"run", ""}},
		{"savepoint validate: an argument is empty", []string{"savepoint", "validate", "", "job.yaml"}},
		{"savepoint rewrite: --to has an empty value", []string{"savepoint", "rewrite", "a", "--to", "", "--dry-run"}},
		{"savepoint create: --dir has an empty value", []string{"savepoint", "create", "job.yaml", "--dir="}},
		{"stop: invalid", []string{"stop", "job.yaml", "--savepoint="}},
		{"savepoint show: --keys has an empty value", []string{"savepoint", "show", "a", "--keys", ""}},
		{"offsets reset: --to has an empty value", []string{"offsets", "reset", "job.yaml", "--to", ""}},
	} {
		code, _, stderr := call(c.args...)
		if code != ExitUsage || !strings.Contains(stderr, c.says) {
			t.Errorf("%q: exit code %d: %s, want %q", c.args, code, stderr, c.says)
		}
	}
	// What the environment leaves empty is not given.
	t.Setenv("WEIR_TOKEN", "")
	if _, _, stderr := call("health", "--address", "127.0.0.1:1"); strings.Contains(stderr, "empty") {
		t.Error(stderr)
	}
}
