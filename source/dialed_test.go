package source

import (
	"context"
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// A client that was connected for a reader is closed with the source if the reader never runs; else it is the reader's.
func TestAClientThatNoReaderHasTakenIsClosedWithTheSource(t *testing.T) {
	var made []*kgo.Client
	dial := func(context.Context, ...kgo.Opt) (*kgo.Client, error) {
		cl, err := kgo.NewClient(kgo.SeedBrokers("127.0.0.1:1"))
		made = append(made, cl)
		return cl, err
	}
	src, err := Kafka(KafkaOptions{Topics: []string{"in"}}).Open(t.Context(), Env{Dial: dial, Name: "events"})
	if err != nil {
		t.Fatal(err)
	}
	taken, err := src.Reader(0, 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	client, err := taken.(*kafkaReader).connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := src.Reader(1, 2, nil); err != nil {
		t.Fatal(err)
	}
	src.Close()
	if len(made) != 3 {
		t.Fatalf("%d clients, want that of the source and one for each reader", len(made))
	}
	for i, cl := range made {
		if closed, want := cl.Context().Err() != nil, cl != client; closed != want {
			t.Errorf("client %d: closed %t, want %t", i, closed, want)
		}
	}
}

func TestAReaderConnectsItselfIfThatFailedBefore(t *testing.T) {
	tries := 0
	refused := errors.New("refused")
	dial := func(context.Context, ...kgo.Opt) (*kgo.Client, error) {
		if tries++; tries == 2 {
			return nil, refused
		}
		return kgo.NewClient(kgo.SeedBrokers("127.0.0.1:1"))
	}
	src, err := Kafka(KafkaOptions{Topics: []string{"in"}}).Open(t.Context(), Env{Dial: dial, Name: "events"})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	r, err := src.Reader(0, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	client, err := r.(*kafkaReader).connect(t.Context())
	if err != nil || tries != 3 {
		t.Fatalf("%v after %d tries", err, tries)
	}
	client.Close()
}
