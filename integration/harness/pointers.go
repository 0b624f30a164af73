package harness

import (
	"fmt"
	"testing"
	"time"

	"github.com/weirstream/weir/checkpoint"
)

// Pointers reads the committed pointers of a job's first shard, oldest first.
func (c *Cluster) Pointers(t testing.TB, checkpointTopic string) []*checkpoint.Pointer {
	t.Helper()
	var pointers []*checkpoint.Pointer
	for _, r := range c.Read(t, checkpointTopic)[0] {
		p, err := checkpoint.DecodePointer(r.Value)
		if err != nil {
			t.Fatalf("%s offset %d: %v", checkpointTopic, r.Offset, err)
		}
		pointers = append(pointers, p)
	}
	return pointers
}

// OffsetsAgree fails the test unless the offsets that the group has committed for the job's sources are those of the
// pointer, for every split.
func (c *Cluster) OffsetsAgree(t testing.TB, group string, p *checkpoint.Pointer) {
	t.Helper()
	committed, err := c.Admin.FetchOffsets(Context(t, 20*time.Second), group)
	if err != nil {
		t.Fatalf("offsets of group %s: %v", group, err)
	}
	splits := 0
	for _, source := range p.Sources {
		for _, split := range source.Splits {
			splits++
			got, ok := committed.Lookup(split.Topic, split.Partition)
			if !ok || got.At != split.Offset {
				t.Errorf("%s partition %d: the group is at %d, checkpoint %d at %d", split.Topic, split.Partition, got.At, p.Checkpoint, split.Offset)
			}
		}
	}
	if splits == 0 {
		t.Errorf("checkpoint %d has no splits", p.Checkpoint)
	}
}

// DenseIDs says whether checkpoint IDs count up by one, in one lineage or across several.
func DenseIDs(pointers []*checkpoint.Pointer) error {
	for i := 1; i < len(pointers); i++ {
		if before, after := pointers[i-1].Checkpoint, pointers[i].Checkpoint; after != before+1 {
			return fmt.Errorf("checkpoint %d follows %d", after, before)
		}
	}
	return nil
}
