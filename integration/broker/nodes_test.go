package broker

import (
	"strings"
	"testing"
)

func TestStorageOfAnotherNodeDiffersInTwoLines(t *testing.T) {
	got := renamed("version=1\nnode.id=1\ncluster.id=abc\ndirectory.id=XYZ\n", 3, "new")
	if want := "version=1\nnode.id=3\ncluster.id=abc\ndirectory.id=new\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestNodesOfAClusterAgreeOnVotersAndReplicas(t *testing.T) {
	o := Options{Dir: "d", place: place{id: 2, nodes: 3, voters: "1@a:1,2@b:2,3@c:3"}}
	o.EnsureDefaults()
	got := o.properties(ports{plain: 1, controller: 2})
	for _, want := range []string{
		"node.id=2\n", "controller.quorum.voters=1@a:1,2@b:2,3@c:3\n", "default.replication.factor=3\n", "min.insync.replicas=2\n",
		"offsets.topic.replication.factor=3\n", "transaction.state.log.min.isr=2\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

func TestPortsAreBelowThoseOfOutgoingConnections(t *testing.T) {
	chosen, err := choosePorts(3)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	for _, p := range chosen {
		for _, port := range []int{p.plain, p.controller, p.sasl} {
			if port < lowestPort || port >= highestPort || seen[port] {
				t.Errorf("port %d of %v", port, chosen)
			}
			seen[port] = true
		}
	}
}
