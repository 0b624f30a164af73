package cli

import (
	"errors"
	"slices"
	"strings"

	"github.com/weirstream/weir/internal/kafka"
	"github.com/weirstream/weir/internal/runtime"
	"github.com/weirstream/weir/source"
)

// missingTopics is a start that did not come about since topics do not exist, with what to do about it.
type missingTopics struct {
	err    error
	remedy string
}

func (e *missingTopics) Error() string { return e.err.Error() + "; " + e.remedy }
func (e *missingTopics) Unwrap() error { return e.err }

// withRemedy adds what to do about topics that do not exist. Of a job that has run somebody has deleted them: to make them again
// is no remedy.
func (p *program) withRemedy(err error, config *runtime.Config) error {
	var one *kafka.TopicError
	var several *kafka.NoTopicsError
	var read *source.MissingTopicError
	var names []string
	switch {
	case errors.As(err, &several):
		names = several.Topics
	case errors.As(err, &one) && errors.Is(err, kafka.ErrNoTopic):
		names = []string{one.Topic}
	case errors.As(err, &read):
		names = []string{read.Topic}
	default:
		return err
	}
	at := config.Kafka
	for _, n := range config.Graph.Nodes {
		if n.Source != nil && n.Source.Kafka != nil && slices.Contains(n.Source.Spec.Kafka.Topics, names[0]) && strings.Contains(err.Error(), "source "+n.Name+": ") {
			at = *n.Source.Kafka
		}
	}
	remedy := "create what is missing: a job makes no topic but its own"
	if p.graph == nil && !at.TLS.Enabled && at.SASL.Mechanism == "" {
		remedy += " (" + p.name + " topics create --brokers " + strings.Join(at.Brokers, ",") + " " + strings.Join(names, " ") + ")"
	}
	return &missingTopics{err, remedy}
}
