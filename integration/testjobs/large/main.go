// Command large keeps 4 KiB for each key, so that a state of any size is made of few records. A record of its input is
// "fill FROM TO", which makes the state of the keys FROM to TO (excluded) and is answered "filled TO" once, or "probe KEY",
// which is answered "KEY right" if the key has the state that it was given. Its settings are in the environment: WEIR_JOB,
// WEIR_BROKERS, WEIR_IN, WEIR_OUT, WEIR_STORAGE, WEIR_PARALLELISM.
package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/weirstream/weir/checkpoint"
	"github.com/weirstream/weir/job"
	"github.com/weirstream/weir/job/cli"
	"github.com/weirstream/weir/operators"
	"github.com/weirstream/weir/sink"
	"github.com/weirstream/weir/source"
	"github.com/weirstream/weir/stream"
)

// valueSize is the size of a key's state in bytes.
const valueSize = 4096

// item is what is to be done for one key.
type item struct {
	key   int64
	probe bool
	last  bool // of a fill
}

func main() {
	parallelism, err := strconv.Atoi(os.Getenv("WEIR_PARALLELISM"))
	if err != nil {
		fmt.Fprintln(os.Stderr, "WEIR_PARALLELISM:", err)
		os.Exit(2)
	}
	g := job.New(os.Getenv("WEIR_JOB"))
	commands := job.From(g, "commands", source.Kafka(source.KafkaOptions{Topics: []string{os.Getenv("WEIR_IN")}}),
		func(r *stream.Record) (string, error) { return strings.Clone(string(r.Value)), nil })
	items := job.Via(commands, "items", operators.FlatMap(expand))
	byKey := job.KeyBy(items, "by-key", func(i item) string { return strconv.FormatInt(i.key, 10) })
	answers := job.Via(byKey, "keep", operators.Process(func() operators.Processor[item, string] { return new(keep) }))
	job.To(answers, "answers", sink.Kafka(sink.KafkaOptions{Topic: os.Getenv("WEIR_OUT")}), func(s string, r *stream.Record) error {
		r.Value = append(r.Value, s...)
		return nil
	})
	storage := os.Getenv("WEIR_STORAGE")
	os.Exit(cli.MainFor(g, job.Options{
		Kafka:       job.Kafka{Brokers: strings.Split(os.Getenv("WEIR_BROKERS"), ",")},
		Parallelism: parallelism,
		Checkpoint:  checkpoint.Options{Interval: time.Second, Storage: storage, LocalDir: storage + "-local"},
	}, os.Args))
}

func expand(command string, emit func(item) error) error {
	var from, to int64
	if n, _ := fmt.Sscanf(command, "probe %d", &from); n == 1 {
		return emit(item{key: from, probe: true})
	}
	if _, err := fmt.Sscanf(command, "fill %d %d", &from, &to); err != nil {
		return fmt.Errorf("%q is no command: %w", command, err)
	}
	for key := from; key < to; key++ {
		if err := emit(item{key: key, last: key == to-1}); err != nil {
			return err
		}
	}
	return nil
}

type keep struct {
	operators.NoTimers[string]
	value *operators.Value[[]byte]
}

func (k *keep) Open(ctx *operators.Context) (err error) {
	k.value, err = operators.NewValue[[]byte](ctx, "value", nil)
	return err
}

func (k *keep) Process(_ *operators.ProcessContext, ev *stream.Event[item], emit func(string) error) error {
	i := ev.Value
	if !i.probe {
		if err := k.value.Put(valueOf(i.key)); err != nil || !i.last {
			return err
		}
		return emit(fmt.Sprint("filled ", i.key+1))
	}
	v, _, err := k.value.Get()
	if err != nil {
		return err
	}
	if !bytes.Equal(v, valueOf(i.key)) {
		return emit(fmt.Sprint(i.key, " wrong"))
	}
	return emit(fmt.Sprint(i.key, " right"))
}

// valueOf is the state of a key: bytes that do not compress.
func valueOf(key int64) []byte {
	b := make([]byte, valueSize)
	var seed [32]byte
	copy(seed[:], strconv.FormatInt(key, 10))
	rand.NewChaCha8(seed).Read(b)
	return b
}
