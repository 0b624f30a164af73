package harness

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
)

// Transactions describes every transactional ID of the cluster that begins with the prefix, whatever its state.
func (c *Cluster) Transactions(t testing.TB, prefix string) []kadm.DescribedTransaction {
	t.Helper()
	ctx := Context(t, 30*time.Second)
	listed, err := c.Admin.ListTransactions(ctx, nil, nil)
	if err != nil {
		t.Fatalf("list transactions: %v", err)
	}
	var ids []string
	for _, id := range listed.TransactionalIDs() {
		if strings.HasPrefix(id, prefix) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	described, err := c.Admin.DescribeTransactions(ctx, ids...)
	if err != nil {
		t.Fatalf("describe transactions: %v", err)
	}
	return described.Sorted()
}

// NoOpenTransactions fails the test if a transactional ID that begins with the prefix has a transaction that is neither
// committed nor aborted after a moment in which the broker may write its markers.
func (c *Cluster) NoOpenTransactions(t testing.TB, prefix string) {
	t.Helper()
	Until(t, 10*time.Second, "no open transaction of "+prefix, func() (bool, string) {
		for _, tx := range c.Transactions(t, prefix) {
			switch tx.State {
			case "Empty", "CompleteCommit", "CompleteAbort", "Dead":
			default:
				return false, fmt.Sprintf("%s is %s since %s", tx.TxnID, tx.State, time.UnixMilli(tx.StartTimestamp))
			}
		}
		return true, ""
	})
}
