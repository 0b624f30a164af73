package operators

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/weirstream/weir/checkpoint"
)

// TestWhatGrowsIsReadAndKeepsWhatBothHave makes pairs of types, most of them alike, and values of the first. If the schemas
// fit, the second type must read each value, keep all that it has too, and write it again.
func TestWhatGrowsIsReadAndKeepsWhatBothHave(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 1))
	fit := 0
	for i := range 2000 {
		was := randomType(rng, 3)
		is := mutated(rng, was, 3)
		w, n := schemaText(t, was), schemaText(t, is)
		if len(checkpoint.Grows(w, n)) > 0 {
			continue
		}
		fit++
		joined := checkpoint.Join(w, n)
		if f := checkpoint.Grows(joined, n); len(f) > 0 {
			t.Fatalf("seed %d, pair %d: %s\nfits %s,\nbut what becomes of them does not: %s\n%s", seed, i, w, n, joined, f)
		}
		if again := checkpoint.Join(joined, n); again.String() != joined.String() {
			t.Fatalf("seed %d, pair %d: %s\njoined with %s is %s\nand then %s", seed, i, w, n, joined, again)
		}
		for range 3 {
			v := reflect.New(was)
			fill(rng, v.Elem(), 4)
			b, err := cborEncoder.Marshal(v.Interface())
			if err != nil {
				t.Fatalf("seed %d: %s: %v", seed, w, err)
			}
			got := reflect.New(is)
			if err := cborDecoder.Unmarshal(b, got.Interface()); err != nil {
				t.Fatalf("seed %d, pair %d: %s\nis said to fit %s,\nbut %s: %v", seed, i, w, n, diagnose(b), err)
			}
			again, err := cborEncoder.Marshal(got.Interface())
			if err != nil {
				t.Fatalf("seed %d, pair %d: %s does not encode again: %v", seed, i, n, err)
			}
			if err := kept(w.Root, n.Root, generic(t, b), generic(t, again)); err != nil {
				t.Fatalf("seed %d, pair %d: %s\nis said to fit %s,\nbut %s\nbecomes %s: %v", seed, i, w, n, diagnose(b), diagnose(again), err)
			}
		}
	}
	if fit < 200 {
		t.Errorf("only %d pairs fit: this tests nothing", fit)
	}
}

// Over two upgrades a field goes, and another one comes whose name differs in case only: it is new, whatever older values have.
func TestAFieldThatIsGoneIsNotReadAsOneThatDiffersInCase(t *testing.T) {
	type first struct {
		Total int64
		N     int64
	}
	type second struct{ N int64 }
	type third struct {
		N       int64
		Account int64 `cbor:"total"`
	}
	schemas := []string{schemaFor(reflect.TypeFor[first]()), schemaFor(reflect.TypeFor[second]()), schemaFor(reflect.TypeFor[third]())}
	state := schemas[0]
	for _, next := range schemas[1:] {
		if findings := checkpoint.CheckSchemas(state, next); len(findings) > 0 {
			t.Fatalf("%s does not fit %s: %s", state, next, findings)
		}
		state = checkpoint.JoinSchemas(state, next)
	}
	b, err := CBOR[first](1).Append(nil, first{Total: 7, N: 1})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := CBOR[third](1).Decode(b); err != nil || got != (third{N: 1}) {
		t.Errorf("a value of the first version is %+v, %v", got, err)
	}
	// At once it is most likely a renaming, and refused before the data is lost.
	if findings := checkpoint.CheckSchemas(schemas[0], schemas[2]); len(findings) != 1 || !strings.Contains(findings[0], "is total now, which differs in case only") {
		t.Errorf("findings %q", findings)
	}
}

func schemaText(t *testing.T, typ reflect.Type) checkpoint.Schema {
	t.Helper()
	s, err := checkpoint.ParseSchema(schemaFor(typ))
	if err != nil {
		t.Fatalf("%s: %v", typ, err)
	}
	if s.String() != schemaFor(typ) {
		t.Fatalf("%s: %s is read as %s", typ, schemaFor(typ), s)
	}
	return s
}

func diagnose(b []byte) string {
	s, err := cbor.Diagnose(b)
	if err != nil {
		return fmt.Sprintf("%x", b)
	}
	return s
}

func generic(t *testing.T, b []byte) (v any) {
	t.Helper()
	if err := cborDecoder.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// kept compares a value as it was written with what it has become.
func kept(was, is *checkpoint.Shape, old, now any) error {
	for was.Kind == checkpoint.ShapePointer {
		was = was.Elem
	}
	for is.Kind == checkpoint.ShapePointer {
		is = is.Elem
	}
	if old == nil {
		return nil // the zero value of whatever it is now
	}
	if now == nil && was.Kind != checkpoint.ShapeStruct { // left out, since it is empty
		if !empty(old) {
			return fmt.Errorf("%v is lost", old)
		}
		return nil
	}
	switch was.Kind {
	case checkpoint.ShapeStruct:
		o := old.(map[any]any)
		n, _ := now.(map[any]any) // left out, if it has nothing
		for _, f := range was.Fields {
			i := slices.IndexFunc(is.Fields, func(g checkpoint.Field) bool { return g.Name == f.Name && g.Number == f.Number })
			if i < 0 {
				continue
			}
			if err := kept(f.Shape, is.Fields[i].Shape, o[nameIn(f)], n[nameIn(is.Fields[i])]); err != nil {
				return fmt.Errorf("field %s: %w", f.Name, err)
			}
		}
	case checkpoint.ShapeMap:
		o, n := old.(map[any]any), now.(map[any]any)
		if len(o) != len(n) {
			return fmt.Errorf("%d entries, were %d", len(n), len(o))
		}
		for k, v := range o {
			found := false
			for k2, v2 := range n {
				if equal(k, k2) {
					found = true
					if err := kept(was.Elem, is.Elem, v, v2); err != nil {
						return fmt.Errorf("key %v: %w", k, err)
					}
				}
			}
			if !found {
				return fmt.Errorf("key %v is lost", k)
			}
		}
	case checkpoint.ShapeSlice, checkpoint.ShapeArray:
		o, n := old.([]any), now.([]any)
		if len(o) > len(n) {
			return fmt.Errorf("%d elements, were %d", len(n), len(o))
		}
		for i := range o {
			if err := kept(was.Elem, is.Elem, o[i], n[i]); err != nil {
				return fmt.Errorf("element %d: %w", i, err)
			}
		}
	case checkpoint.ShapeBytes:
		if o, n := old.([]byte), now.([]byte); !slices.Equal(o, n[:min(len(n), len(o))]) {
			return fmt.Errorf("%x was %x", n, o)
		}
	default:
		if !equal(old, now) {
			return fmt.Errorf("%v (%T) was %v (%T)", now, now, old, old)
		}
	}
	return nil
}

func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[any]any:
		for _, e := range v {
			if !empty(e) {
				return false
			}
		}
		return true
	case []any:
		return len(v) == 0
	case []byte:
		return len(v) == 0
	}
	n, ok := numberOf(v)
	return ok && n.Sign() == 0 || v == "" || v == false
}

func nameIn(f checkpoint.Field) any {
	if !f.Number {
		return f.Name
	}
	n, _ := new(big.Int).SetString(f.Name, 10)
	return n.Uint64()
}

// equal compares numbers by value, whatever their types.
func equal(a, b any) bool {
	x, okX := numberOf(a)
	y, okY := numberOf(b)
	if okX && okY {
		return x.Cmp(y) == 0
	}
	if t, ok := a.(time.Time); ok {
		u, ok := b.(time.Time)
		return ok && t.Equal(u)
	}
	return reflect.DeepEqual(a, b)
}

func numberOf(v any) (*big.Float, bool) {
	f := new(big.Float).SetPrec(200)
	switch v := v.(type) {
	case uint64:
		return f.SetUint64(v), true
	case int64:
		return f.SetInt64(v), true
	case float64:
		return f.SetFloat64(v), true
	case big.Int:
		return f.SetInt(&v), true
	}
	return nil, false
}

var scalarTypes = []reflect.Type{
	reflect.TypeFor[bool](), reflect.TypeFor[string](), reflect.TypeFor[[]byte](), reflect.TypeFor[[4]byte](), reflect.TypeFor[time.Time](),
	reflect.TypeFor[int8](), reflect.TypeFor[int16](), reflect.TypeFor[int32](), reflect.TypeFor[int64](), reflect.TypeFor[int](),
	reflect.TypeFor[uint8](), reflect.TypeFor[uint16](), reflect.TypeFor[uint32](), reflect.TypeFor[uint64](),
	reflect.TypeFor[float32](), reflect.TypeFor[float64](), reflect.TypeFor[big.Int](), reflect.TypeFor[time.Duration](),
}

var keyTypes = []reflect.Type{
	reflect.TypeFor[string](), reflect.TypeFor[int16](), reflect.TypeFor[int64](), reflect.TypeFor[uint8](), reflect.TypeFor[uint32](),
	reflect.TypeFor[float32](), reflect.TypeFor[float64](), reflect.TypeFor[bool](),
}

func randomType(rng *rand.Rand, depth int) reflect.Type {
	if depth == 0 || rng.IntN(4) == 0 {
		return scalarTypes[rng.IntN(len(scalarTypes))]
	}
	switch rng.IntN(9) {
	case 0:
		return reflect.PointerTo(randomType(rng, depth-1))
	case 1:
		return reflect.SliceOf(randomType(rng, depth-1))
	case 2:
		return reflect.ArrayOf(1+rng.IntN(3), randomType(rng, depth-1))
	case 3:
		return reflect.MapOf(keyTypes[rng.IntN(len(keyTypes))], randomType(rng, depth-1))
	default:
		var fields []structDesc
		for range rng.IntN(4) {
			fields = append(fields, structDesc{randomTag(rng), randomType(rng, depth-1)})
		}
		return structType(fields)
	}
}

type structDesc struct {
	tag string
	typ reflect.Type
}

func randomTag(rng *rand.Rand) string {
	tag := []string{"a", "A", "b", "long name", "Bc", "bC", "d", "7,keyasint"}[rng.IntN(8)]
	return tag + []string{"", "", ",omitempty"}[rng.IntN(3)]
}

func structType(fields []structDesc) reflect.Type {
	var out []reflect.StructField
	taken := map[string]bool{}
	for i, f := range fields {
		name, _, _ := strings.Cut(f.tag, ",")
		if taken[name] {
			continue
		}
		taken[name] = true
		out = append(out, reflect.StructField{Name: fmt.Sprint("F", i), Type: f.typ, Tag: reflect.StructTag(fmt.Sprintf("cbor:%q", f.tag))})
	}
	return reflect.StructOf(out)
}

// mutated is a type that is like another one.
func mutated(rng *rand.Rand, t reflect.Type, depth int) reflect.Type {
	switch rng.IntN(12) {
	case 0:
		return randomType(rng, depth)
	case 1:
		return reflect.PointerTo(t)
	}
	switch {
	case t.Kind() == reflect.Pointer && rng.IntN(3) == 0:
		return mutated(rng, t.Elem(), depth)
	case t.Kind() == reflect.Pointer:
		return reflect.PointerTo(mutated(rng, t.Elem(), depth))
	case slices.Contains(scalarTypes, t):
		if rng.IntN(2) == 0 {
			return t
		}
		return scalarTypes[rng.IntN(len(scalarTypes))]
	case t.Kind() == reflect.Slice:
		return reflect.SliceOf(mutated(rng, t.Elem(), depth-1))
	case t.Kind() == reflect.Array && rng.IntN(2) == 0:
		return reflect.SliceOf(mutated(rng, t.Elem(), depth-1))
	case t.Kind() == reflect.Array:
		return reflect.ArrayOf(t.Len()+rng.IntN(3), mutated(rng, t.Elem(), depth-1))
	case t.Kind() == reflect.Map:
		key := t.Key()
		if rng.IntN(2) == 0 {
			key = keyTypes[rng.IntN(len(keyTypes))]
		}
		return reflect.MapOf(key, mutated(rng, t.Elem(), depth-1))
	case t.Kind() == reflect.Struct:
		var fields []structDesc
		for i := range t.NumField() {
			f := t.Field(i)
			if rng.IntN(4) > 0 {
				fields = append(fields, structDesc{f.Tag.Get("cbor"), mutated(rng, f.Type, depth-1)})
			}
		}
		if rng.IntN(2) == 0 {
			fields = append(fields, structDesc{randomTag(rng), randomType(rng, 1)})
		}
		rng.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
		return structType(fields)
	}
	return t
}

// fill makes a random value; a depth of 0 makes empty ones.
func fill(rng *rand.Rand, v reflect.Value, depth int) {
	if rng.IntN(6) == 0 {
		return // the zero value
	}
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.Unix(rng.Int64N(1<<33), rng.Int64N(1e9)).UTC()))
		return
	case big.Int:
		v.Set(reflect.ValueOf(*new(big.Int).Mul(big.NewInt(rng.Int64()), big.NewInt(rng.Int64()))))
		return
	}
	extreme := rng.IntN(3) == 0
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.String:
		v.SetString(fmt.Sprint("s", rng.IntN(100)))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		n := int64(rng.Uint64()) >> (64 - v.Type().Bits())
		if extreme {
			n = -1 << (v.Type().Bits() - 1) // ^n is the largest
			if rng.IntN(2) == 0 {
				n = ^n
			}
		}
		v.SetInt(n)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		n := rng.Uint64()
		if extreme {
			n = ^uint64(0)
		}
		v.SetUint(n >> (64 - v.Type().Bits()))
	case reflect.Float32, reflect.Float64:
		f := rng.NormFloat64() * 1e9
		if v.Kind() == reflect.Float32 {
			f = float64(float32(f))
		}
		v.SetFloat(f)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(rng, v.Elem(), depth)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), max(0, min(depth, 1+rng.IntN(3))), 8))
		fallthrough
	case reflect.Array:
		for i := range v.Len() {
			fill(rng, v.Index(i), depth-1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range min(depth, rng.IntN(4)) {
			k, e := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fill(rng, k, depth-1)
			fill(rng, e, depth-1)
			v.SetMapIndex(k, e)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fill(rng, v.Field(i), depth-1)
		}
	}
}
