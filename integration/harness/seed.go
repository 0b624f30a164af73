package harness

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// Rand returns the source of a test's random choices. Its seed is $WEIR_SEED or a new one; a failed test prints the command
// that repeats it.
func Rand(t testing.TB) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	if s := os.Getenv("WEIR_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatalf("WEIR_SEED: %v", err)
		}
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("repeat with: WEIR_SEED=%d go test -tags integration -run '^%s$' ./integration", seed, t.Name())
		}
	})
	return rand.New(rand.NewPCG(seed, 0))
}
