//go:build !integration

package integration

import "testing"

func TestJobsOnARealKafka(t *testing.T) {
	t.Skip("needs a real broker, which it starts itself with Java 17 and Maven: make integration")
}
