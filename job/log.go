package job

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/weirstream/weir/internal/web"
)

// HTTP says where a job's metrics, health and commands can be reached.
type HTTP = web.Options

// Log says what the commands of a job log, and how.
type Log struct {
	// Format is text or json, one line a message. Default text.
	Format string `yaml:"format"`
	// Level is the least that is logged: debug, info, warn or error. A healthy job logs next to nothing at info. Default info.
	Level string `yaml:"level"`
}

// EnsureDefaults sets what is empty to its default.
func (l *Log) EnsureDefaults() {
	if l.Format == "" {
		l.Format = "text"
	}
	if l.Level == "" {
		l.Level = "info"
	}
}

// Validate reports every mistake, joined.
func (l *Log) Validate() error {
	var errs []error
	if f := strings.ToLower(l.Format); f != "text" && f != "json" {
		errs = append(errs, fmt.Errorf("format: %q is neither text nor json", l.Format))
	}
	var level slog.Level
	if level.UnmarshalText([]byte(l.Level)) != nil {
		errs = append(errs, fmt.Errorf("level: %q is none of debug, info, warn, error", l.Level))
	}
	return errors.Join(errs...)
}

// Logger makes the logger that writes to w. The settings are valid.
func (l *Log) Logger(w io.Writer) *slog.Logger {
	var level slog.Level
	if level.UnmarshalText([]byte(l.Level)) != nil {
		level = slog.LevelInfo
	}
	o := &slog.HandlerOptions{Level: level}
	if strings.EqualFold(l.Format, "json") {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}
