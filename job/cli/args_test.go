package cli

import (
	"io"
	"strings"
	"testing"
)

func TestFlagsMayStandAnywhere(t *testing.T) {
	app := (&program{name: "processor", stdout: io.Discard, stderr: io.Discard}).app()
	for in, want := range map[string]string{
		"":                                   "",
		"run job.yaml":                       "run job.yaml",
		"run job.yaml --set a=b":             "run --set a=b job.yaml",
		"run job.yaml --set=a=b --again":     "run --set=a=b --again job.yaml",
		"run --again job.yaml --from dir":    "run --again --from dir job.yaml",
		"run job.yaml --fresh --address off": "run --fresh --address off job.yaml",
		"run job.yaml --fresh=2":             "run --fresh=2 job.yaml",
		"run job.yaml --wait-for-broker -h":  "run --wait-for-broker -h job.yaml",
		"savepoint create job --dir d":       "savepoint create --dir d job",
		"checkpoints show job 7 --json":      "checkpoints show --json job 7",
		"topics create a:1 --brokers b c":    "topics create --brokers b a:1 c",
		"run -- --odd.yaml --set a=b":        "run -- --odd.yaml --set a=b",
		"run job.yaml --set":                 "run --set",
		"nonsense x --y z":                   "nonsense x --y z",
		"--help":                             "--help",
	} {
		args := append([]string{"processor"}, strings.Fields(in)...)
		if got := strings.Join(flagsFirst(app, args)[1:], " "); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
