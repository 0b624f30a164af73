//go:build integration

package integration

import (
	"testing"

	"github.com/weirstream/weir/integration/broker"
	"github.com/weirstream/weir/integration/harness"
)

// A cluster that was upgraded may still have an older form of transactions than its brokers know.
func TestKilledJobIsExactOnOlderTransactionVersions(t *testing.T) {
	for _, version := range []string{"0", "1"} {
		t.Run("transaction.version="+version, func(t *testing.T) {
			t.Parallel()
			cluster := harness.NewCluster(t, broker.Options{Features: map[string]string{"transaction.version": version}})
			killAgainAndAgain(t, cluster, 20)
		})
	}
}

func TestKilledJobIsExactOnTheOldestKafka(t *testing.T) {
	t.Parallel()
	killAgainAndAgain(t, harness.NewCluster(t, broker.Options{Version: broker.Oldest}), 20)
}
