package kafka

import (
	"fmt"
	"io"
	"log/slog"
)

const redacted = "***"

// Secret is a string that prints as three asterisks, or as nothing if it is empty: with every verb of fmt, in YAML, in
// JSON and in logs. Convert it to a string to use it.
type Secret string

// Format implements [fmt.Formatter], so that no verb gets at the value.
func (s Secret) Format(f fmt.State, _ rune) { io.WriteString(f, s.String()) }

// String returns the redacted form.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return redacted
}

// MarshalText returns the redacted form; JSON uses it.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalYAML returns the redacted form.
func (s Secret) MarshalYAML() (any, error) { return s.String(), nil }

// LogValue returns the redacted form.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }
