package cli

import (
	"strings"
	"testing"
)

func TestPartitionsAreAddedAndNeverTakenAway(t *testing.T) {
	b := broker(t)
	if code, _, stderr := call("topics", "create", "grows:2", "stays:3", "--brokers", b); code != ExitOK {
		t.Fatal(stderr)
	}
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"grows:4 stays:3", ExitOK, "topic grows has 4 partitions, 2 before\ntopic stays has 3 partitions\n"},
		{"grows:4", ExitOK, "topic grows has 4 partitions\n"},
		{"stays:5 grows:2", ExitUsage, "topic grows has 4 partitions: there is no taking away"},
		{"stays:3", ExitOK, "topic stays has 3 partitions\n"}, // the one before was refused as a whole
		{"nothing:2", ExitMissingTopic, "topic nothing"},
		{"grows", ExitUsage, "want TOPIC:PARTITIONS"},
		{"grows:0", ExitUsage, `topics add-partitions: "grows:0"`},
		{"", ExitUsage, "topics add-partitions: name at least one topic"},
	} {
		args := append([]string{"topics", "add-partitions", "--brokers", b}, strings.Fields(c.args)...)
		code, stdout, stderr := call(args...)
		if code != c.code || !strings.Contains(stdout+stderr, c.want) {
			t.Errorf("%q: exit code %d, want %d with %q:\n%s%s", c.args, code, c.code, c.want, stdout, stderr)
		}
	}
}

// A topic that is there with another number of partitions than was asked for is left as it is, which is not what was asked for.
func TestATopicThatExistsWithAnotherNumberOfPartitionsIsNamed(t *testing.T) {
	b := broker(t)
	says(t, ExitOK, "topic views created with 2 partitions\n", "topics", "create", "views:2", "--brokers", b)
	says(t, ExitOK, "topic views exists, with 2 partitions\n", "topics", "create", "views:2", "--brokers", b)
	says(t, ExitOK, "topic views exists, with 2 partitions\n", "topics", "create", "views", "--brokers", b)
	out := says(t, ExitOther, "topic views exists, with 2 partitions instead of 4: topics add-partitions views:4 gives it more", "topics", "create", "views:4", "clicks:3", "--brokers", b)
	if out != "topic clicks created with 3 partitions\n" {
		t.Errorf("the others: %q", out)
	}
	says(t, ExitOther, "topic views exists, with 2 partitions instead of 1: Kafka takes none away", "topics", "create", "views:1", "--brokers", b)
	says(t, ExitOK, "topic views has 4 partitions, 2 before", "topics", "add-partitions", "views:4", "--brokers", b)
}
