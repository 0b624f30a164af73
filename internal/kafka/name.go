package kafka

import (
	"errors"
	"fmt"
	"regexp"
)

// maxName is how long a topic's name may be; a broker makes files of it.
const maxName = 249

var nameOfTopic = regexp.MustCompile(`^[a-zA-Z0-9._-]+$`)

// CheckName reports why no topic can have a name.
func CheckName(topic string) error {
	switch {
	case topic == "":
		return errors.New("the name is empty")
	case topic == "." || topic == "..":
		return fmt.Errorf("%q is no name for a topic", topic)
	case len(topic) > maxName:
		return fmt.Errorf("%q: a topic's name has %d characters at most", topic, maxName)
	case !nameOfTopic.MatchString(topic):
		return fmt.Errorf("%q: only letters, digits, '.', '_' and '-' may be in a topic's name", topic)
	}
	return nil
}
