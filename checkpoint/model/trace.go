package model

import (
	"regexp"
	"strings"
)

// trace goes the way to a state once more, this time with the processes in their places, and tells it. violating is the hash
// of the state after it, 0 if the state itself is meant.
func trace(c Config, nodes []node, to int32, violating uint64, text string) []string {
	var way []uint64
	if violating != 0 {
		way = append(way, violating)
	}
	for ; nodes[to].parent >= 0; to = nodes[to].parent {
		way = append(way, nodes[to].hash)
	}
	e := newExplorer(c)
	s := e.initial()
	var lines []string
	var buf []byte
	for i := len(way) - 1; i >= 0; i-- {
		for _, m := range e.moves(&s) {
			var h uint64
			if h, buf = m.state.hash(buf); h == way[i] && (i > 0 || violating == 0 || m.text == text) {
				lines = append(lines, e.tell(&s, m))
				s = m.state
				break
			}
		}
	}
	return joinFences(lines)
}

// joinFences makes one line of the slots that a process fences one after the other.
func joinFences(lines []string) []string {
	var out []string
	for _, line := range lines {
		process, slot, plain := strings.Cut(line, " fences slot ")
		if n := len(out) - 1; plain && n >= 0 && strings.HasPrefix(out[n], process+" ") && joinable.MatchString(out[n]) {
			out[n] = strings.Replace(out[n], "fences slot ", "fences slots ", 1) + ", " + slot
			continue
		}
		out = append(out, line)
	}
	return out
}

// joinable is a line about fencing that says nothing else.
var joinable = regexp.MustCompile(`fences slots? [0-9](, [0-9])*$`)
