package checkpoint

import (
	"encoding/hex"
	"fmt"
	"strings"
)

// Slots is the number of transactional producers of a shard. It is a constant of the format: checkpoint n uses slot n mod
// Slots and no other, so two processes that recover at the same time need the same slot next, and one of them fails.
const Slots = 4

// Slot returns the slot of a checkpoint.
func Slot(checkpoint int64) int { return int(checkpoint % Slots) }

// Topic returns the name of the job's checkpoint topic: "<prefix>.<job>.checkpoints". Partition i is shard i.
func (o *Options) Topic(job string) string { return o.Prefix + "." + job + ".checkpoints" }

// TransactionalID returns the transactional ID of a slot: "<prefix>.<job>.<shard>.<slot>".
func (o *Options) TransactionalID(job string, shard, slot int) string {
	return fmt.Sprintf("%s.%s.%d.%d", o.Prefix, job, shard, slot)
}

// GroupID returns the consumer group that offsets are committed in: the option, or the job's name.
func (o *Options) GroupID(job string) string {
	if o.Group != "" {
		return o.Group
	}
	return job
}

// FileName returns the name of a file in the checkpoint store: "<job>/<shard>/<attempt>/<upload>-<hash>.<kind>".
// Upload is the checkpoint that the file was written for, so no two uploads share a name, also if their content is the
// same: one of them may be on its way out (rule 15). Kind is "base", "delta", "pointer" or "left".
func FileName(job string, shard int, attempt string, upload int64, hash Hash, kind string) string {
	return fmt.Sprintf("%s/%d/%s/%d-%s.%s", job, shard, attempt, upload, hash, kind)
}

// AttemptOf returns the attempt in a name that [FileName] made, "" for any other name.
func AttemptOf(name string) string {
	parts := strings.Split(name, "/")
	if len(parts) != 4 {
		return ""
	}
	return parts[2]
}

// Hash is a SHA-256 hash; as text it is hexadecimal.
type Hash [32]byte

func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// MarshalText implements encoding.TextMarshaler, for JSON.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (h *Hash) UnmarshalText(text []byte) error { return unhex(h[:], text) }

// TopicID is Kafka's topic ID, a UUID; zero if it is not known. As text it is hexadecimal.
type TopicID [16]byte

func (t TopicID) String() string { return hex.EncodeToString(t[:]) }

// MarshalText implements encoding.TextMarshaler, for JSON.
func (t TopicID) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (t *TopicID) UnmarshalText(text []byte) error { return unhex(t[:], text) }

func unhex(dst, text []byte) error {
	if hex.DecodedLen(len(text)) != len(dst) {
		return fmt.Errorf("%q: want %d hexadecimal digits", text, hex.EncodedLen(len(dst)))
	}
	_, err := hex.Decode(dst, text)
	return err
}
