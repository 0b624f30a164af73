package yamlfile

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/checkpoint"
)

type inner struct {
	Name string `yaml:"name"`
	On   bool   `yaml:"on"`
}

type Common struct {
	Topics []string `yaml:"topics"`
}

type options struct {
	Common   `yaml:",inline"`
	Interval time.Duration              `yaml:"interval"`
	From     time.Time                  `yaml:"from"`
	Memory   checkpoint.Bytes           `yaml:"memory"`
	Bytes    int32                      `yaml:"bytes"`
	Count    *int                       `yaml:"count"`
	Ratio    float64                    `yaml:"ratio"`
	Small    uint8                      `yaml:"small"`
	Offsets  map[string]map[int32]int64 `yaml:"offsets"`
	Inner    inner                      `yaml:"inner"`
	Many     []inner                    `yaml:"many"`
	Any      *Node                      `yaml:"any"`
	Hidden   func()                     `yaml:"-"`
}

func decode(t *testing.T, text string, sets ...string) (options, string) {
	t.Helper()
	n, r := Parse("f.yaml", []byte(text))
	if n == nil {
		return options{}, r.Err().Error()
	}
	for _, s := range sets {
		r.Set(n, s)
	}
	var o options
	r.Decode(n, "", &o)
	if err := r.Err(); err != nil {
		return o, err.Error()
	}
	return o, ""
}

func TestValuesOfEveryType(t *testing.T) {
	got, err := decode(t, `
topics: one
interval: 1d
from: 2013-01-01T10:00:00+01:00
memory: 64MiB
bytes: 4KiB
count: 1_000
ratio: 0.5
small: 255
offsets: {a: {0: 17, 1: 18}}
inner: {name: 5, on: true}
many: [{name: a}, {name: "b"}]
any: {x: 1}
`)
	if err != "" {
		t.Fatal(err)
	}
	count := 1000
	want := options{Common: Common{[]string{"one"}}, Interval: 24 * time.Hour, Memory: 64 << 20, Bytes: 4096, Count: &count, Ratio: 0.5,
		Small: 255, Offsets: map[string]map[int32]int64{"a": {0: 17, 1: 18}}, Inner: inner{"5", true}, Many: []inner{{"a", false}, {"b", false}}}
	if !got.From.Equal(time.Date(2013, 1, 1, 9, 0, 0, 0, time.UTC)) || got.Any.Get("x").Text != "1" {
		t.Errorf("from is %v, any is %v", got.From, got.Any)
	}
	got.From, got.Any = time.Time{}, nil
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestAColonWithoutASpaceIsPartOfAText(t *testing.T) {
	for list, want := range map[string][]string{
		"[localhost:9092]":               {"localhost:9092"},
		"[a:1, 10.0.0.1:0x10, h:1_000]":  {"a:1", "10.0.0.1:0x10", "h:1_000"},
		"[a:b:c, s3://x/y, a:true, h:~]": {"a:b:c", "s3://x/y", "a:true", "h:~"},
		"[ h:1 ,\n  h2:2 ]":              {"h:1", "h2:2"},
		`["h:1", 'h:2']`:                 {"h:1", "h:2"},
		"localhost:9092":                 {"localhost:9092"},
		"[\u00fc:1, \u00fc\u00fc:2]":     {"\u00fc:1", "\u00fc\u00fc:2"},
	} {
		for _, around := range []string{"{topics: LIST}", "{topics: LIST, ratio: 0.5}", "{ratio: 0.5, topics: LIST}", "topics: LIST"} {
			got, err := decode(t, strings.ReplaceAll(around, "LIST", list))
			if err != "" || !reflect.DeepEqual(got.Topics, want) {
				t.Errorf("%s: %q, %s", strings.ReplaceAll(around, "LIST", list), got.Topics, err)
			}
		}
	}
	for _, mapping := range []string{"{topics: [a: 1]}", `{topics: [{a: 1}]}`} {
		if _, err := decode(t, mapping); !strings.Contains(err, "want a text, got a mapping") {
			t.Errorf("%s: %s", mapping, err)
		}
	}
}

func TestNullLeavesTheDefault(t *testing.T) {
	got, err := decode(t, "count:\ntopics: ~\ninner: null\ninterval: null\n")
	if err != "" || got.Count != nil || got.Topics != nil || got.Interval != 0 {
		t.Errorf("got %+v, %s", got, err)
	}
}

func TestWrongTypesAreNamed(t *testing.T) {
	for text, want := range map[string]string{
		"interval: 5":               `f.yaml:1:11: interval: want a duration, such as 200ms, 5s or 1h, got "5"`,
		"interval: [5s]":            `f.yaml:1:11: interval: want a duration, such as 200ms, 5s or 1h, got a list`,
		"from: 2013-01-01":          `f.yaml:1:7: from: want a time in RFC 3339, such as 2013-01-01T00:00:00Z, got "2013-01-01"`,
		"memory: lots":              `f.yaml:1:9: memory: "lots" is not a size: want for example 512MiB or 20KiB`,
		"bytes: 4GiB":               `f.yaml:1:8: bytes: want a whole number, got "4GiB"`,
		"small: 256":                `f.yaml:1:8: small: want a whole number, got "256"`,
		"small: -1":                 `f.yaml:1:8: small: want a whole number, got "-1"`,
		"count: \"5\"":              `f.yaml:1:8: count: want a whole number, got "5"`,
		"ratio: half":               `f.yaml:1:8: ratio: want a number, got "half"`,
		"inner: {on: yes}":          `f.yaml:1:13: inner.on: want true or false, got "yes"`,
		"inner: [a]":                `f.yaml:1:8: inner: want a mapping, got a list`,
		"topics: {a: 1}":            `f.yaml:1:9: topics: want a list, got a mapping`,
		"offsets: {a: {x: 1}}":      `f.yaml:1:15: offsets.a: want a whole number, got "x"`,
		"offsets: {a: {0: x}}":      `f.yaml:1:18: offsets.a.0: want a whole number, got "x"`,
		"many:\n  - name: [x]":      `f.yaml:2:11: many.name: want a text, got a list`,
		"inner:\n  nam: x":          `f.yaml:2:3: inner: unknown field "nam" (did you mean "name"?)`,
		"hidden: 1":                 `f.yaml:1:1: unknown field "hidden": there are topics, interval, from, memory, bytes, count, ratio, small, offsets, inner, many, any`,
		"many:\n  - {name: a, x: }": `f.yaml:2:15: many: unknown field "x": there are name, on`,
	} {
		if _, got := decode(t, text); got != want {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
}

func TestSetTypesItsValueByWhatIsWanted(t *testing.T) {
	got, err := decode(t, "inner: {name: a}\nmany: [{name: x}, {name: y.z}]\n",
		"topics=a, b", "interval=5s", "memory=1GiB", "inner.on=true", "many.x.on=true", "many.1.on=true", "many.y.z.name=q",
		"offsets={a: {0: 5}}", "ratio=1", "count=null", "inner.name=")
	if err != "" {
		t.Fatal(err)
	}
	want := options{Common: Common{[]string{"a", "b"}}, Interval: 5 * time.Second, Memory: 1 << 30, Ratio: 1, Inner: inner{"", true},
		Many: []inner{{"x", true}, {"q", true}}, Offsets: map[string]map[int32]int64{"a": {0: 5}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestSubstitution(t *testing.T) {
	env := func(name string) (string, bool) {
		v, ok := map[string]string{"A": "x", "EMPTY": "", "DOLLAR": "${A}"}[name]
		return v, ok
	}
	for in, want := range map[string]string{
		"plain":                "plain",
		"${A}":                 "x",
		"a${A}b${A}c":          "axbxc",
		"${B:-y}":              "y",
		"${B:-}":               "",
		"${A:-y}":              "x",
		"${EMPTY:-y}":          "y",
		"${EMPTY}":             "",
		"${DOLLAR}":            "${A}",
		"$${A}":                "${A}",
		"$$$${A}":              "$${A}",
		"$key matches 'a$'":    "$key matches 'a$'",
		"$":                    "$",
		"${B:-127.0.0.1:9092}": "127.0.0.1:9092",
		"${B}":                 "! the environment variable B is not set, and ${B} has no default (${B:-default})",
		"${A":                  "! ${A: the } is missing (write $$ for a dollar sign)",
		"${}":                  "! ${}: want ${NAME} or ${NAME:-default} (write $$ for a dollar sign)",
		"${A-B}":               "! ${A-B}: want ${NAME} or ${NAME:-default} (write $$ for a dollar sign)",
	} {
		got, _, err := substitute(in, env)
		if err != nil {
			got = "! " + err.Error()
		}
		if got != want {
			t.Errorf("%s became %s, want %s", in, got, want)
		}
	}
}

func TestPlaceInsideAScalar(t *testing.T) {
	text := "plain: abc def\nquoted: 'abc def'\nblock: |\n  abc\n    def\nfolded: >\n  abc\n  def\ndeep:\n  - {é: \"ab\\td\"}\n"
	n, r := Parse("f.yaml", []byte(text))
	if n == nil {
		t.Fatal(r.Err())
	}
	for _, c := range []struct {
		node         *Node
		offset       int
		line, column int
	}{
		{n.Get("plain"), 4, 1, 12},
		{n.Get("quoted"), 4, 2, 14},
		{n.Get("block"), 0, 4, 3},
		{n.Get("block"), 4, 5, 3},
		{n.Get("block"), 6, 5, 5},
		{n.Get("folded"), 4, 6, 9},
		{n.Get("deep").Items[0].Get("é"), 2, 10, 12},
		{n.Get("deep").Items[0].Get("é"), 4, 10, 9},
		{n.Get("plain"), 99, 1, 15},
	} {
		if got := r.At(c.node, c.offset); got.Line != c.line || got.Column != c.column {
			t.Errorf("offset %d of %q is %d:%d, want %d:%d", c.offset, c.node.Text, got.Line, got.Column, c.line, c.column)
		}
	}
}

func TestAliasesCannotExplode(t *testing.T) {
	text := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := range 8 {
		from, to := string(rune('0'+i)), string(rune('1'+i))
		text += "a" + to + ": &a" + to + " [" + strings.TrimSuffix(strings.Repeat("*a"+from+", ", 10), ", ") + "]\n"
	}
	_, r := Parse("f.yaml", []byte(text))
	if err := r.Err(); err == nil || !strings.Contains(err.Error(), "the aliases expand to more than 100000 values") {
		t.Errorf("got %v", err)
	}
}

func FuzzParseNeverPanics(f *testing.F) {
	f.Add("job: x\nkafka: {brokers: [a]}\n", "kafka.brokers=b")
	f.Add("a: &a {b: *a}\n<<: *a\n", "a.b.c=[")
	f.Add("- a\n- |\n  x\n? b\n: c\n", "0=1")
	f.Fuzz(func(t *testing.T, text, set string) {
		n, r := Parse("f.yaml", []byte(text))
		if n == nil {
			if r.Err() == nil {
				t.Fatal("no node and no mistake")
			}
			return
		}
		r.Set(n, set)
		r.Substitute(n, func(string) (string, bool) { return "", false })
		var o options
		r.Decode(n, "", &o)
		_ = r.Err()
	})
}
