package proxy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// maxFrame bounds a request or an answer, in bytes: more is not Kafka's protocol.
const maxFrame = 256 << 20

// readFrame reads one request or answer, with the four bytes of its length.
func readFrame(r io.Reader) ([]byte, error) {
	var length [4]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(length[:])
	if n < 4 || n > maxFrame {
		return nil, fmt.Errorf("a frame of %d bytes is not Kafka's protocol", n)
	}
	frame := make([]byte, 4+n)
	copy(frame, length[:])
	_, err := io.ReadFull(r, frame[4:])
	return frame, err
}

var errShort = errors.New("the frame is cut short")

// Request is a request of a client, as rules see it.
type Request struct {
	Key     kmsg.Key
	Version int16
	// ClientID is what the client calls itself, "" if nothing.
	ClientID string
	// Node is the broker that the client believes to talk to, -1 where it begins.
	Node int32
	// Body is the decoded request; nil if this version of it is not known. It must not be changed.
	Body kmsg.Request

	correlation [4]byte
	// frame is the whole request, payload what follows its header.
	frame, payload []byte
}

// parseRequest reads a request's header.
func parseRequest(frame []byte) (*Request, error) {
	b := frame[4:]
	if len(b) < 8 {
		return nil, errShort
	}
	q := &Request{Key: kmsg.Key(binary.BigEndian.Uint16(b)), Version: int16(binary.BigEndian.Uint16(b[2:])), frame: frame}
	copy(q.correlation[:], b[4:])
	if len(b) < 10 {
		return q, nil // ControlledShutdown 0 has no client ID
	}
	n := int(int16(binary.BigEndian.Uint16(b[8:])))
	b = b[10:]
	if n > len(b) {
		return nil, errShort
	}
	if n > 0 {
		q.ClientID = string(b[:n])
		b = b[n:]
	}
	if body := q.Key.Request(); body != nil && q.Version <= body.MaxVersion() {
		body.SetVersion(q.Version)
		if body.IsFlexible() {
			var err error
			if b, err = skipTags(b); err != nil {
				return nil, err
			}
		}
		q.payload = b
	}
	return q, nil
}

// decode fills Body if it can.
func (q *Request) decode() {
	if q.Body != nil || q.payload == nil {
		return
	}
	body := q.Key.Request()
	body.SetVersion(q.Version)
	if body.ReadFrom(q.payload) == nil {
		q.Body = body
	}
}

// silent reports whether the request gets no answer: produce without acknowledgement.
func (q *Request) silent() bool {
	if q.Key != kmsg.Produce || q.payload == nil {
		return false
	}
	b := q.payload
	skip := 0
	switch {
	case q.Version >= 9:
		n, used := binary.Uvarint(b)
		if used <= 0 {
			return false
		}
		skip = used
		if n > 0 {
			skip += int(n) - 1
		}
	case q.Version >= 3:
		if len(b) < 2 {
			return false
		}
		skip = 2 + max(0, int(int16(binary.BigEndian.Uint16(b))))
	}
	return skip >= 0 && len(b) >= skip+2 && binary.BigEndian.Uint16(b[skip:]) == 0
}

// headed reports whether answers of this kind and version have tags in their header.
func headed(r kmsg.Response) bool { return r.IsFlexible() && kmsg.Key(r.Key()) != kmsg.ApiVersions }

// decodeAnswer decodes an answer to a request; nil if this version of it is not known. What it returns shares the frame's
// bytes.
func decodeAnswer(key kmsg.Key, version int16, frame []byte) (kmsg.Response, error) {
	r := key.Response()
	if r == nil || version > r.MaxVersion() {
		return nil, nil
	}
	r.SetVersion(version)
	b := frame[8:]
	if headed(r) {
		var err error
		if b, err = skipTags(b); err != nil {
			return nil, err
		}
	}
	return r, r.(kmsg.UnsafeReadFrom).UnsafeReadFrom(b)
}

// encodeAnswer makes a frame of an answer.
func encodeAnswer(correlation [4]byte, r kmsg.Response) []byte {
	frame := append(make([]byte, 4, 128), correlation[:]...)
	if headed(r) {
		frame = append(frame, 0)
	}
	frame = r.AppendTo(frame)
	binary.BigEndian.PutUint32(frame, uint32(len(frame)-4))
	return frame
}

func skipTags(b []byte) ([]byte, error) {
	count, used := binary.Uvarint(b)
	if used <= 0 {
		return nil, errShort
	}
	b = b[used:]
	for range count {
		_, used = binary.Uvarint(b)
		if used <= 0 {
			return nil, errShort
		}
		size, more := binary.Uvarint(b[used:])
		if more <= 0 || size > uint64(len(b)-used-more) {
			return nil, errShort
		}
		b = b[used+more+int(size):]
	}
	return b, nil
}
