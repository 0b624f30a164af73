package model

import (
	"bytes"

	"github.com/cespare/xxhash/v2"
)

// hash returns the hash of a state in its canonical form: processes that change places make no other state.
func (s *state) hash(buf []byte) (uint64, []byte) {
	buf = buf[:0]
	for _, x := range s.slots {
		buf = x.ptr.append(append(buf, x.txn<<4|x.group))
	}
	for _, m := range s.late {
		buf = m.ptr.append(append(buf, m.kind<<4|m.record))
	}
	buf = append(buf, s.nlog<<4|s.nout)
	for _, e := range s.log[:s.nlog] {
		buf = e.ptr.append(append(buf, e.of))
	}
	for _, r := range s.out[:s.nout] {
		buf = append(buf, r.of<<4|r.record)
	}
	buf = append(buf, s.group, s.lateInit, s.crashes<<4|s.network, s.timeouts<<4|s.strangers, s.losses<<4|s.stale<<1|bit(s.lost))
	buf = s.last.append(append(buf, s.expected<<4|s.carried, s.started))
	var each [maxProcesses][processSize]byte
	order := [maxProcesses]int{0, 1, 2}
	for i := range s.procs {
		s.procs[i].encode(&each[i])
	}
	for _, pair := range [...][2]int{{0, 1}, {1, 2}, {0, 1}} {
		a, b := &order[pair[0]], &order[pair[1]]
		if bytes.Compare(each[*a][:], each[*b][:]) > 0 {
			*a, *b = *b, *a
		}
	}
	for _, i := range order {
		buf = append(buf, each[i][:]...)
	}
	return xxhash.Sum64(buf), buf
}

const processSize = 16

func (p *process) encode(b *[processSize]byte) {
	*b = [processSize]byte{
		p.pc<<4 | p.flags<<3 | bit(p.ran)<<2 | bit(p.first)<<1 | bit(p.taken),
		p.pool<<4 | p.committing<<2 | p.step,
		p.owned<<4 | p.fenced,
		p.mine,
		p.end<<4 | p.group,
		p.began<<4 | p.count,
		p.at.id<<4 | p.at.in,
		bit(p.at.from)<<1 | bit(p.at.begins) | p.done<<2,
		p.sent<<4 | p.flight,
		p.bars[0], p.bars[1], p.bars[2], bit(p.misled),
	}
}

func (p pointer) append(b []byte) []byte {
	return append(b, p.id<<4|p.in, bit(p.from)<<1|bit(p.begins))
}

func bit(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}
