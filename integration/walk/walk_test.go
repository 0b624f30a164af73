package walk

import (
	"reflect"
	"strings"
	"testing"
)

func TestBlocksBecomeSteps(t *testing.T) {
	document := strings.ReplaceAll(`# A page

    $ not run

'''yaml
# a.yaml
job: a
'''

'''sh
# one after the other
first --flag
second | third   # exit code 8
processor run a.yaml &
'''
Some words.

'''text
...
done
'''

'''sh
# again until it is 0
look
'''

'''text
0
'''

'''go
other()
'''
`, "'''", "```")
	steps, err := Parse(document)
	if err != nil {
		t.Fatal(err)
	}
	want := []Step{
		{Line: 5, File: "a.yaml", Text: "# a.yaml\njob: a\n"},
		{Line: 10, Commands: []Command{{Text: "first --flag"}, {Text: "second | third", Exit: 8}, {Text: "processor run a.yaml", Beside: true}}, Shown: "...\ndone"},
		{Line: 23, Commands: []Command{{Text: "look"}}, Again: true, Shown: "0"},
	}
	if !reflect.DeepEqual(steps, want) {
		t.Errorf("got  %+v\nwant %+v", steps, want)
	}
}

func TestMistakesOfADocumentAreNamed(t *testing.T) {
	for document, want := range map[string]string{
		"'''sh\nls\n":          "line 1: the block does not end",
		"'''yaml\njob: a\n'''": "line 1: the first line does not name the file",
		"'''text\nout\n'''":    "line 1: output without commands before it",
		"'''sh\nls\n'''\n'''text\n1\n'''\n'''text\n2\n'''": "line 7: output without commands before it",
		"'''sh\n# again until it is 0\nls\n'''":            "line 1: nothing shows until when it is repeated",
		"'''sh\n# nothing\n'''":                            "line 1: no command",
	} {
		if _, err := Parse(strings.ReplaceAll(document, "'''", "```")); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", document, err, want)
		}
	}
}

func TestMatch(t *testing.T) {
	for _, c := range []struct{ name, shown, printed, want string }{
		{"the same", "a b\nc", "a   b\n\nc\n", ""},
		{"another number", "LAG 0", "LAG 1", "shown, and not printed there: LAG 0"},
		{"less printed", "a\nb", "a\n", "shown, and not printed there: b"},
		{"more printed", "a", "a\nb", "more was printed than is shown: b"},
		{"any lines", "a\n...\nd", "a\nb\nc\nd", ""},
		{"any lines are none too", "a\n...\nd", "a\nd", ""},
		{"any lines, again", "...\nb\n...\nb\nc", "x\nb\nb\nx\nb\nc", ""},
		{"any text", "took ... of it", "took all of it", ""},
		{"what varies", "checkpoint 3, 2026-11-30 08:11:45.881Z, lineage 128bbec7, 5.2 KiB, 12 s old",
			"checkpoint 12, 2027-01-01 00:00:00.001Z, lineage 00000000, 71 B, 185 ms old", ""},
		{"a savepoint's ID", "savepoint 128bbec7-297c-4d33-8f1d-ad410e1a9530-3: x", "savepoint 00000000-297c-4d33-8f1d-ad410e1a9530-14: x", ""},
		{"a column of checkpoints", "clicks 3 2026-11-30 08:11:45.881Z", "clicks 14 2026-11-30 09:11:45.881Z", ""},
		{"not an ID", "savepoint 128bbec7", "savepoint none", "shown, and not printed there: savepoint ID"},
	} {
		err := Match(c.shown, c.printed)
		if got := errorText(err); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
