package cli

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/urfave/cli/v2"
)

// Programs ask every command in the same way.
func TestEveryTableIsPrintedAsJSONInTwoWays(t *testing.T) {
	b := broker(t)
	file := sums(t, b)
	produce(t, b, "numbers", `{"key":"a","n":1}`)
	if code, _, stderr := call("run", file, "--set", "source.in.stop_at=latest", "--address", "off"); code != ExitOK {
		t.Fatal(stderr)
	}
	tables := [][]string{
		{"doctor", file, "--address", "off"}, {"checkpoints", "list", file}, {"checkpoints", "show", file}, {"transactions", "list", file},
		{"verify", file}, {"topics", "list", "--brokers", b},
	}
	for _, args := range tables {
		for _, way := range [][]string{{"--json"}, {"--output", "json"}, {"--output=json", "--json"}} {
			code, stdout, stderr := call(append(slices.Clone(args), way...)...)
			if code != ExitOK || !json.Valid([]byte(stdout)) {
				t.Errorf("%v %v: exit code %d: %s%s", args, way, code, stdout, stderr)
			}
		}
		if code, stdout, _ := call(append(slices.Clone(args), "--output", "table")...); code != ExitOK || json.Valid([]byte(stdout)) {
			t.Errorf("%v: exit code %d: %s", args, code, stdout)
		}
		for _, way := range [][]string{{"--output", "yaml"}, {"--output", "table", "--json"}} {
			if code, _, stderr := call(append(slices.Clone(args), way...)...); code != ExitUsage || !strings.Contains(stderr, "--output") {
				t.Errorf("%v %v: exit code %d: %s", args, way, code, stderr)
			}
		}
	}
	// No command has one of the flags alone.
	p := &program{name: "processor"}
	everyCommand(p.app().Commands, func(c *cli.Command) {
		has := func(name string) bool {
			return slices.ContainsFunc(c.Flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), name) })
		}
		if has("json") != has("output") {
			t.Errorf("%s: --json %v, --output %v", c.Name, has("json"), has("output"))
		}
	})
}

func TestHelpIsACommandToo(t *testing.T) {
	for _, args := range [][]string{{"run"}, {"topics", "create"}, {"checkpoints"}, {}} {
		_, want, _ := call(append(slices.Clone(args), "--help")...)
		if code, got, stderr := call(append([]string{"help"}, args...)...); code != ExitOK || got != want || want == "" {
			t.Errorf("%v: exit code %d: %s%s", args, code, got, stderr)
		}
	}
	if code, _, stderr := call("help", "rnu"); code != ExitUsage || !strings.Contains(stderr, `did you mean "run"?`) {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

func TestBrokersOnTheCommandLineWinOverTheFile(t *testing.T) {
	here, elsewhere := broker(t), broker(t, kfake.SeedTopics(1, "weir.sums.checkpoints"))
	file := sums(t, here)
	for _, c := range []struct {
		name string
		args []string
		env  string
		code int
		says string
	}{
		{"the file's", nil, "", ExitOther, "there is no topic weir.sums.checkpoints"},
		{"the flag's", []string{"--brokers", elsewhere}, "", ExitOther, "topic weir.sums.checkpoints is empty"},
		{"the environment is for other commands", nil, elsewhere, ExitOther, "there is no topic weir.sums.checkpoints"},
		{"another prefix", []string{"--prefix", "other"}, "", ExitOther, "there is no topic other.sums.checkpoints"},
		{"no address", []string{"--brokers", ":x"}, "", ExitUsage, "--brokers"},
	} {
		t.Setenv("KAFKA_BROKERS", c.env)
		if code, _, stderr := call(append([]string{"checkpoints", "list", file}, c.args...)...); code != c.code || !strings.Contains(stderr, c.says) {
			t.Errorf("%s: exit code %d: %s", c.name, code, stderr)
		}
	}
	// For a job's name either will do.
	t.Setenv("KAFKA_BROKERS", elsewhere)
	if code, _, stderr := call("checkpoints", "list", "sums"); code != ExitOther || !strings.Contains(stderr, "is empty") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	t.Setenv("KAFKA_BROKERS", "")
	if code, _, stderr := call("transactions", "list", "sums"); code != ExitUsage || !strings.Contains(stderr, "--brokers is needed") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

func TestAJobThatNobodyKnowsIsSaidToBeUnknown(t *testing.T) {
	b := broker(t)
	for _, command := range []string{"list", "abort"} {
		code, stdout, stderr := call("transactions", command, "nosuch", "--brokers", b, "--address", "off")
		if command == "list" {
			code, stdout, stderr = call("transactions", command, "nosuch", "--brokers", b)
		}
		if code != ExitOther || !strings.Contains(stderr, "job nosuch has never run on this cluster") || stdout != "" {
			t.Errorf("%s: exit code %d: %s%s", command, code, stdout, stderr)
		}
	}
	if code, stdout, _ := call("transactions", "list", sums(t, b)); code != ExitOK || !strings.Contains(stdout, "job sums has never run on this cluster") {
		t.Errorf("exit code %d: %s", code, stdout)
	}
}
