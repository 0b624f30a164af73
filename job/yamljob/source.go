package yamljob

import (
	"fmt"
	"strings"

	"github.com/weirstream/weir/job"
	"github.com/weirstream/weir/job/yamljob/internal/row"
	"github.com/weirstream/weir/job/yamljob/internal/text"
	"github.com/weirstream/weir/job/yamljob/internal/yamlfile"
	"github.com/weirstream/weir/source"
)

func (b *builder) sources() {
	n := b.f.Source
	if n == nil || n.AsMapping().Kind != yamlfile.Mapping || len(n.Entries) == 0 {
		pos := b.root.Pos
		if n != nil {
			pos = n.Pos
		}
		b.r.Add(pos, "", "no source: say under source what to read, by name")
		return
	}
	for _, e := range n.Entries {
		b.source(e)
	}
}

func (b *builder) source(e yamlfile.Entry) {
	where := fmt.Sprintf("source %q", e.Key)
	n := e.Value
	var o SourceOptions
	fits := b.decode(n, where, &o)
	opts := b.stepOptions(n, where, fits, o.OnBadRecord, o.DeadLetterTopic, o.Parallelism)
	b.oneOf(n, where, "format", o.Format, formats...)
	spec := source.Kafka(o.KafkaOptions)
	if fits {
		b.r.Invalid(n, where, spec.Validate())
	}
	if o.Kafka != nil {
		checked := *o.Kafka
		checked.EnsureDefaults()
		b.r.Invalid(n.Get("kafka"), where+": kafka", checked.Validate())
		b.secured(n.Get("kafka"), where+": kafka")
		opts = append(opts, job.Cluster(*o.Kafka))
	}
	if o.Format == "" {
		o.Format = "json"
	}
	wants := new(row.Wants)
	s := &step{name: e.Key, where: where, pos: e.Pos, format: o.Format, chained: true, parallelism: o.Parallelism}
	if o.Format == "raw" {
		if o.Fields != nil {
			b.r.Add(n.KeyPos("fields"), where, "fields: format raw has its own fields: key, value, timestamp, topic, partition, offset")
		}
		s.schema = row.SourceSchema(row.RawFields, wants)
		s.decoder = row.NewRawDecoder(s.schema, wants)
	} else {
		fields, ok := b.fields(n, o.Fields, where)
		s.schema = row.SourceSchema(fields, wants)
		s.decoder = row.NewJSONDecoder(s.schema, wants)
		if !ok {
			s.schema = nil
		}
	}
	s.out = job.From(b.graph, e.Key, spec, s.decoder.Decode, opts...)
	b.add(s)
}

var fieldTypes = map[string]row.Field{
	"int": {Kind: row.KindInt}, "float": {Kind: row.KindFloat}, "string": {Kind: row.KindString}, "bool": {Kind: row.KindBool},
	"timestamp": {Kind: row.KindTimestamp}, "timestamp_s": {Kind: row.KindTimestamp, Unit: row.Seconds},
	"timestamp_us": {Kind: row.KindTimestamp, Unit: row.Micros}, "timestamp_ns": {Kind: row.KindTimestamp, Unit: row.Nanos},
	"json": {Kind: row.KindJSON},
}

var typeNames = []string{"int", "float", "string", "bool", "timestamp", "timestamp_s", "timestamp_us", "timestamp_ns", "json"}

// otherNames are what other languages call the types, which no distance between letters finds.
var otherNames = map[string]string{
	"boolean": "bool", "integer": "int", "long": "int", "bigint": "int", "int32": "int", "int64": "int", "short": "int",
	"double": "float", "number": "float", "decimal": "float", "float32": "float", "float64": "float", "real": "float",
	"str": "string", "text": "string", "varchar": "string", "char": "string",
	"time": "timestamp", "date": "timestamp", "datetime": "timestamp", "timestamp_ms": "timestamp",
	"object": "json", "map": "json", "struct": "json", "array": "json", "list": "json", "any": "json",
}

// fields reads the declaration of a JSON source's fields; ok is false if something is wrong with it.
func (b *builder) fields(n, declared *yamlfile.Node, where string) (fields []row.Field, ok bool) {
	if n.Bad() && declared == nil {
		return nil, false
	}
	if declared == nil || declared.Kind == yamlfile.Null {
		b.r.Add(n.Pos, where, "fields: missing: declare what to read, as in fields: {user: string, amount: float}")
		return nil, false
	}
	if declared.AsMapping().Kind != yamlfile.Mapping {
		b.r.Add(declared.Pos, where, "fields: want name: type, got %v", declared.Kind)
		return nil, false
	}
	ok = true
	for _, e := range declared.Entries {
		if e.Value.Bad() {
			ok = false
			continue
		}
		f, known := fieldTypes[e.Value.Text]
		if !known || e.Value.Kind != yamlfile.Scalar {
			got := e.Value.Text
			if e.Value.Kind != yamlfile.Scalar {
				got = e.Value.Kind.String()
			}
			// What was probably meant lets the expressions be checked.
			meant := otherNames[strings.ToLower(got)]
			if meant == "" {
				meant = text.Nearest(got, typeNames)
			}
			hint := ""
			if meant != "" {
				hint = fmt.Sprintf(" (did you mean %q?)", meant)
			}
			b.r.Add(e.Value.Pos, where, "fields.%s: unknown type %q%s: one of %s", e.Key, got, hint, strings.Join(typeNames, ", "))
			if f, known = fieldTypes[meant]; !known {
				ok = false
				continue
			}
		}
		f.Name = e.Key
		ok = b.named(e.Pos, where, "fields", e.Key, fields) && ok
		fields = append(fields, f)
	}
	return fields, ok
}
