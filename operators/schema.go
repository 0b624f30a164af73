package operators

import (
	"fmt"

	"github.com/weirstream/weir/checkpoint"
)

// Described is a [Codec] that says what its values look like. The schema goes into the checkpoint beside the state, and a
// restore compares it with that of the job's codec (checkpoint.Grows): with two schemas that fit, the name of the type may
// be another one. [CBOR] describes Go types. A codec of one's own may return a text of its own words, which fits only
// itself, or "" if it has none.
type Described interface{ Schema() string }

// Continued is a [Codec] that reads what codecs with other columns have written, and needs to know which. Continue
// returns the codec for a state whose values have any of the schema's sets of columns; the last is the codec's own.
type Continued[V any] interface {
	Continue(schema string) (Codec[V], error)
}

// schemaOf is the schema of a codec's values, "" if it does not say.
func schemaOf[V any](codec Codec[V]) string {
	if d, ok := codec.(Described); ok {
		return d.Schema()
	}
	return ""
}

// described makes the description of a state. The codec that it returns is the one to use: it knows what was restored.
func described[V any](ctx *Context, name, kind string, codec Codec[V]) (StateDesc, Codec[V], error) {
	desc := StateDesc{Name: name, Kind: kind, Type: codec.Type(), Version: codec.Version(), Schema: schemaOf(codec)}
	if err := losesOf(codec); err != nil {
		return desc, codec, fmt.Errorf("state %q: %w", name, err)
	}
	c, ok := codec.(Continued[V])
	if !ok || desc.Schema == "" {
		return desc, codec, nil
	}
	store, ok := ctx.Store.(interface {
		Schema(operator, state string) string
	})
	if !ok {
		return desc, codec, nil
	}
	was := store.Schema(ctx.Subtask.Operator, name)
	joined := checkpoint.JoinSchemas(was, desc.Schema)
	if joined == desc.Schema {
		return desc, codec, nil
	}
	if findings := checkpoint.CheckSchemas(was, desc.Schema); len(findings) > 0 {
		return desc, codec, nil // the store refuses it, with all that it says
	}
	desc.Schema = joined
	codec, err := c.Continue(joined)
	if err != nil {
		return desc, codec, fmt.Errorf("state %q: %w", name, err)
	}
	return desc, codec, nil
}

// mapSchema is that of a map state, "" if its keys or its values have none: keys are parts of the names of entries.
func mapSchema[MK comparable, V any](keys Codec[MK], values Codec[V]) string {
	k, err := checkpoint.ParseSchema(schemaOf(keys))
	if err != nil || k.Root == nil {
		return ""
	}
	v, err := checkpoint.ParseSchema(schemaOf(values))
	if err != nil || v.Root == nil {
		return ""
	}
	root := &checkpoint.Shape{Kind: checkpoint.ShapeMap, Key: k.Root, Elem: v.Root, KeyVersion: keys.Version()}
	return checkpoint.Schema{Root: root}.String()
}

// in adds the windows to a schema.
func in(schema, windows string) string {
	if schema == "" {
		return ""
	}
	return schema + " in " + windows
}

// Schema implements [Described].
func (c windowCodec[V]) Schema() string { return in(schemaOf(c.Codec), c.windows) }

// Continue implements [Continued].
func (c windowCodec[V]) Continue(schema string) (Codec[V], error) {
	codec, err := continued(c.Codec, schema)
	return windowCodec[V]{codec, c.windows}, err
}

// Schema implements [Described].
func (c paneCodec[Acc]) Schema() string { return schemaOf(c.acc) }

// Continue implements [Continued].
func (c paneCodec[Acc]) Continue(schema string) (Codec[pane[Acc]], error) {
	acc, err := continued(c.acc, schema)
	return paneCodec[Acc]{acc}, err
}

// Schema implements [Described].
func (c sessionCodec[Acc]) Schema() string { return c.pane.Schema() }

// Continue implements [Continued].
func (c sessionCodec[Acc]) Continue(schema string) (Codec[session[Acc]], error) {
	acc, err := continued(c.pane.acc, schema)
	return sessionCodec[Acc]{paneCodec[Acc]{acc}}, err
}

// Schema implements [Described].
func (c bunchCodec[V]) Schema() string { return schemaOf(c.value) }

// Continue implements [Continued].
func (c bunchCodec[V]) Continue(schema string) (Codec[bunch[V]], error) {
	value, err := continued(c.value, schema)
	return bunchCodec[V]{value}, err
}

func continued[V any](codec Codec[V], schema string) (Codec[V], error) {
	if c, ok := codec.(Continued[V]); ok {
		return c.Continue(schema)
	}
	return codec, nil
}
