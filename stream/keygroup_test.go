package stream

import "testing"

func TestRangeOfIsTheInverseOfSubtaskOf(t *testing.T) {
	for groups := 1; groups <= 300; groups += 13 {
		for p := 1; p <= groups; p++ {
			next := 0
			for i := range p {
				r := RangeOf(i, p, groups)
				if r.First != next {
					t.Fatalf("groups %d, parallelism %d: subtask %d begins at %d, want %d", groups, p, i, r.First, next)
				}
				for g := r.First; g <= r.Last; g++ {
					if got := SubtaskOf(KeyGroup(g), p, groups); got != i {
						t.Fatalf("groups %d, parallelism %d: group %d belongs to %d, want %d", groups, p, g, got, i)
					}
				}
				next = r.Last + 1
			}
			if next != groups {
				t.Fatalf("groups %d, parallelism %d: ranges end at %d", groups, p, next)
			}
		}
	}
}

// The values are the format: state written by one version is read by the next.
func TestKeyGroupIsFrozen(t *testing.T) {
	for key, want := range map[string]KeyGroup{"": 25, "u0000001": 73, "AA": 54, "weir": 14} {
		if got := KeyGroupOf([]byte(key), 128); got != want {
			t.Errorf("KeyGroupOf(%q) = %d, want %d", key, got, want)
		}
	}
}
