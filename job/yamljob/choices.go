package yamljob

import (
	"strings"

	"github.com/weirstream/weir/internal/kafka"
	"github.com/weirstream/weir/job/yamljob/internal/yamlfile"
	"github.com/weirstream/weir/sink"
)

var (
	formats    = []string{"json", "raw"}
	timestamps = []string{"rfc3339", "ms"}
	policies   = []string{"fail", "skip", "dead_letter"}
)

// choices are the values of texts that may have only a few, for a mistake that gives none at all, as on_bad_record: {...} does. What
// is given as a text is checked where it is used; a test compares the two.
var choices = map[string]string{
	"format":                      strings.Join(formats, ", "),
	"timestamps":                  strings.Join(timestamps, ", "),
	"on_bad_record":               strings.Join(policies, ", "),
	"start":                       "earliest, latest, timestamp, group, offsets",
	"stop_at":                     "latest, timestamp, offsets",
	"isolation":                   "read_committed, read_uncommitted",
	"on_data_loss":                "fail, earliest",
	"checkpoint.mode":             "exactly_once, at_least_once",
	"producer.compression":        strings.Join(sink.Compressions, ", "),
	"kafka.sasl.mechanism":        strings.Join(kafka.Mechanisms, ", "),
	"checkpoint.restart.strategy": "none, fixed_delay, failure_rate, exponential_delay",
	"log.format":                  "text, json",
	"log.level":                   "debug, info, warn, error",
}

// secured reports empty blocks of a cluster, which read as if they turned something on.
func (b *builder) secured(n *yamlfile.Node, where string) {
	for _, block := range []struct{ name, remedy string }{
		{"tls", "nothing here turns TLS on: say enabled: true, or leave tls out"},
		{"sasl", "no mechanism is named here: say one of " + strings.Join(kafka.Mechanisms, ", ") + ", or leave sasl out"},
	} {
		v := n.Get(block.name)
		if v != nil && !v.Bad() && (v.Kind == yamlfile.Null || v.Kind == yamlfile.Mapping && len(v.Entries) == 0) {
			b.r.Add(v.Pos, where, "%s: %s", block.name, block.remedy)
		}
	}
}
