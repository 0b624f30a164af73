package harness

import "testing"

// Connect reaches a Kafka that somebody else runs, for one test.
func Connect(t testing.TB, brokers ...string) *Cluster {
	t.Helper()
	c, err := connect(brokers)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}
