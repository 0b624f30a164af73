package kafka

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

func TestTheClusterIsDescribed(t *testing.T) {
	c := newCluster(t, kfake.NumBrokers(3), kfake.SeedTopics(5, "t"),
		kfake.BrokerConfigs(map[string]string{"transaction.max.timeout.ms": "123000"}))
	ctx := testContext(t)
	cl, err := Dial(ctx, Config{Brokers: c.ListenAddrs()})
	must(t, err)
	defer cl.Close()
	cluster := NewCluster(cl)
	features, err := cluster.Features(ctx)
	must(t, err)
	if features.TransactionVersion() != 2 {
		t.Errorf("features %v", features)
	}
	longest, err := cluster.MaxTransactionTimeout(ctx)
	must(t, err)
	if longest != 123*time.Second {
		t.Errorf("transaction.max.timeout.ms is %s", longest)
	}
	topic, err := cluster.Topic(ctx, "t")
	must(t, err)
	if len(topic.Partitions) != 5 || !topic.HasLeaders() || topic.ID == [16]byte{} || topic.Partitions[4].Index != 4 {
		t.Errorf("topic %+v", topic)
	}
	settings, err := cluster.TopicSettings(ctx, "t")
	must(t, err)
	if settings.CleanupPolicy != "delete" || settings.MaxMessageBytes != 1048588 || settings.RetentionMs != 604800000 || settings.RetentionBytes != -1 {
		t.Errorf("settings %+v", settings)
	}
}

func TestAMissingTopicIsAnErrorAndNotMade(t *testing.T) {
	c := newCluster(t, kfake.AllowAutoTopicCreation())
	ctx := testContext(t)
	cl, err := Dial(ctx, Config{Brokers: c.ListenAddrs()})
	must(t, err)
	defer cl.Close()
	cluster := NewCluster(cl)
	for range 2 {
		_, err = cluster.Topic(ctx, "none")
		var topic *TopicError
		if !errors.Is(err, ErrNoTopic) || !errors.As(err, &topic) || err.Error() != "topic none: the topic does not exist" {
			t.Errorf("error %v", err)
		}
	}
	if _, err := cluster.TopicSettings(ctx, "none"); !errors.Is(err, ErrNoTopic) {
		t.Errorf("settings: %v", err)
	}
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if _, err := cluster.WaitTopic(short, "none"); !errors.Is(err, ErrNoTopic) {
		t.Errorf("waiting: %v", err)
	}
}

func TestErrorsAreClassified(t *testing.T) {
	for _, test := range []struct {
		err                                      error
		retriable, authentication, authorization bool
	}{
		{nil, false, false, false},
		{kerr.NotLeaderForPartition, true, false, false},
		{fmt.Errorf("x: %w", kerr.CoordinatorLoadInProgress), true, false, false},
		{io.EOF, true, false, false},
		{context.DeadlineExceeded, true, false, false},
		{context.Canceled, false, false, false},
		{kgo.ErrClientClosed, false, false, false},
		{kerr.ProducerFenced, false, false, false},
		{fmt.Errorf("x: %w", kerr.SaslAuthenticationFailed), false, true, false},
		{kerr.TransactionalIDAuthorizationFailed, false, false, true},
	} {
		if test.err != nil && (IsRetriable(test.err) != test.retriable || IsAuthentication(test.err) != test.authentication ||
			IsAuthorization(test.err) != test.authorization) {
			t.Errorf("%v: retriable %v, authentication %v, authorization %v", test.err, IsRetriable(test.err), IsAuthentication(test.err), IsAuthorization(test.err))
		}
	}
}
