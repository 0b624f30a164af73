package operators

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/weirstream/weir/checkpoint"
)

// TestWhatWasWrittenThreeVersionsAgoIsRead: a type grows three times. What any of its versions has written, and nobody since, the
// latest one reads, with all that both have.
func TestWhatWasWrittenThreeVersionsAgoIsRead(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 1))
	type written struct {
		by checkpoint.Schema
		b  []byte
	}
	upgrades := 0
	for chain := range 600 {
		versions := []reflect.Type{randomType(rng, 3)}
		joined := schemaText(t, versions[0])
		var values []written
		for tries := 0; len(versions) < 4 && tries < 12; tries++ {
			latest := versions[len(versions)-1]
			for range 3 {
				v := reflect.New(latest)
				fill(rng, v.Elem(), 3)
				b, err := cborEncoder.Marshal(v.Interface())
				must0(t, err)
				values = append(values, written{schemaText(t, latest), b})
			}
			next := mutated(rng, versions[rng.IntN(len(versions))], 3) // what was removed may come back
			is := schemaText(t, next)
			if len(checkpoint.Grows(joined, is)) > 0 {
				continue
			}
			var err error
			joined, err = checkpoint.ParseSchema(checkpoint.JoinSchemas(joined.String(), is.String())) // as it travels
			must0(t, err)
			versions = append(versions, next)
			upgrades++
			for _, w := range values {
				got := reflect.New(next)
				if err := cborDecoder.Unmarshal(w.b, got.Interface()); err != nil {
					t.Fatalf("seed %d, chain %d: %s\nis said to be read as %s,\nbut %s: %v", seed, chain, w.by, is, diagnose(w.b), err)
				}
				again, err := cborEncoder.Marshal(got.Interface())
				must0(t, err)
				if err := kept(w.by.Root, is.Root, generic(t, w.b), generic(t, again)); err != nil {
					t.Fatalf("seed %d, chain %d: %s\nis said to be read as %s,\nbut %s\nbecomes %s: %v", seed, chain, w.by, is, diagnose(w.b), diagnose(again), err)
				}
			}
		}
	}
	if upgrades < 300 {
		t.Errorf("only %d upgrades: this tests nothing", upgrades)
	}
}
