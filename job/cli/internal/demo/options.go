package demo

import (
	"errors"
	"fmt"
	"io"
	"time"
)

// Options say what is shown.
type Options struct {
	// Events is how many events are fed, Over how long that takes.
	Events int64
	Over   time.Duration
	// Kills is how often the job is killed while it is fed.
	Kills int
	// Seed makes the input and the moments of the kills.
	Seed uint64
	// Keep leaves everything running at the end, until the context ends.
	Keep bool

	// Program is the executable of the children, Env is added to their environment.
	Program string
	Env     []string
	// Command is how a user calls the program, for the commands that are printed.
	Command string
	Out     io.Writer
	// Live redraws a picture, for a terminal; otherwise plain lines are printed.
	Live bool
}

// Validate reports every mistake, joined.
func (o *Options) Validate() error {
	var errs []error
	if o.Events < 1000 {
		errs = append(errs, fmt.Errorf("events: %d is less than 1000", o.Events))
	}
	if o.Kills < 3 {
		errs = append(errs, fmt.Errorf("kills: %d is less than 3", o.Kills))
	}
	if o.Over < time.Second {
		errs = append(errs, fmt.Errorf("over: %s is less than 1s", o.Over))
	}
	return errors.Join(errs...)
}
