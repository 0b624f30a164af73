package harness

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

func TestCompareNamesWhatDiffers(t *testing.T) {
	want := Sums{"a": {1, 3, 6}, "b": {5}}
	for _, c := range []struct {
		name string
		got  Sums
		says string // "" if equal
	}{
		{"equal", Sums{"a": {1, 3, 6}, "b": {5}}, ""},
		{"lost", Sums{"a": {1, 6}, "b": {5}}, "lost 1, doubled 0, wrong 0, out of order 0"},
		{"lost a key", Sums{"a": {1, 3, 6}}, "key b: 5 is missing"},
		{"doubled", Sums{"a": {1, 3, 3, 6}, "b": {5}}, "doubled 1, wrong 0, out of order 0"},
		{"doubled later", Sums{"a": {1, 3, 1, 3, 6}, "b": {5}}, "doubled 2, wrong 0, out of order 1"},
		{"wrong", Sums{"a": {1, 3, 6, 7}, "b": {5}}, "7 at place 3 is no sum"},
		{"order", Sums{"a": {3, 1, 6}, "b": {5}}, "lost 0, doubled 0, wrong 0, out of order 1"},
		{"foreign key", Sums{"a": {1, 3, 6}, "b": {5}, "c": {1}}, "key c"},
		{"nothing", Sums{}, "lost 4"},
	} {
		err := want.Compare(c.got)
		switch {
		case err == nil && c.says != "":
			t.Errorf("%s: no difference seen", c.name)
		case err != nil && (c.says == "" || !strings.Contains(err.Error(), c.says)):
			t.Errorf("%s: %v, want %q", c.name, err, c.says)
		}
	}
}

func TestRunningSumsFollowTheInputOfEachKey(t *testing.T) {
	n := Numbers{Seed: 1, Keys: 3}
	input := map[int32][]*kgo.Record{}
	for i := range int64(100) {
		r := n.Record("in", i)
		p := int32(r.Key[4]-'0') % 2
		input[p] = append(input[p], r)
	}
	sums, err := RunningSums(input)
	if err != nil {
		t.Fatal(err)
	}
	if sums.Len() != 100 || len(sums) != 3 {
		t.Errorf("%d values of %d keys, want 100 of 3", sums.Len(), len(sums))
	}
	for key, values := range sums {
		for i := 1; i < len(values); i++ {
			if values[i] <= values[i-1] {
				t.Errorf("key %s: %d follows %d: the oracle needs sums that grow", key, values[i], values[i-1])
			}
		}
	}
}

func TestAKeyInTwoPartitionsIsAnError(t *testing.T) {
	r := func(p int32) *kgo.Record {
		return &kgo.Record{Topic: "out", Partition: p, Key: []byte("a"), Value: []byte(`{"key":"a","sum":1}`)}
	}
	_, err := ReadSums(map[int32][]*kgo.Record{0: {r(0)}, 1: {r(1)}})
	if err == nil || !strings.Contains(err.Error(), "partitions 0 and 1") {
		t.Errorf("got %v", err)
	}
}

func TestNumbersAreTheSameForTheSameSeed(t *testing.T) {
	for i := range int64(50) {
		a, b := Numbers{Seed: 7, Keys: 10}.Record("in", i), Numbers{Seed: 7, Keys: 10}.Record("in", i)
		if fmt.Sprint(a) != fmt.Sprint(b) {
			t.Fatalf("record %d: %v and %v", i, a, b)
		}
	}
}
