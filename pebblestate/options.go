package pebblestate

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/weirstream/weir/internal/fault"
)

// Options is how a shard keeps its state on this machine. Zero means default.
type Options struct {
	// Dir is the working directory of one attempt. It is emptied when the attempt begins; nothing in it is needed for a
	// restore. One process at a time can use it.
	Dir string `yaml:"dir"`
	// CacheDir keeps copies of the last base's files by hash, so that a restart on this machine downloads nothing. It is
	// the shard's own; two attempts may share it. Empty: none are kept.
	CacheDir string `yaml:"cache_dir"`
	// CacheBytes is the memory of Pebble's block cache; an eighth of it is set aside for writing a base. Beside it up to three
	// eighths as much go into knowing which keys Pebble has. Default 64 MiB.
	CacheBytes int64 `yaml:"cache_bytes"`
	// BaseTimeout is how long writing a base may take before the attempt ends. Default 5m.
	BaseTimeout time.Duration `yaml:"base_timeout"`
	// CloseTimeout is how long closing may take before Pebble is left as it is. Default 5s.
	CloseTimeout time.Duration `yaml:"close_timeout"`
	// Logger takes Pebble's messages; nil discards them.
	Logger *slog.Logger `yaml:"-"`
	// Fault is called at the steps of a restore, for tests; nil in use.
	Fault fault.Hook `yaml:"-"`
	// FS is the file system; nil is the machine's.
	FS vfs.FS `yaml:"-"`
}

// EnsureDefaults fills in what is zero.
func (o *Options) EnsureDefaults() {
	if o.CacheBytes == 0 {
		o.CacheBytes = 64 << 20
	}
	if o.BaseTimeout == 0 {
		o.BaseTimeout = 5 * time.Minute
	}
	if o.CloseTimeout == 0 {
		o.CloseTimeout = 5 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.FS == nil {
		o.FS = vfs.Default
	}
}

// Validate reports every mistake.
func (o *Options) Validate() error {
	var errs []error
	if o.Dir == "" {
		errs = append(errs, errors.New("dir is empty: state needs a local directory to work in"))
	}
	if o.CacheBytes < 1<<20 {
		errs = append(errs, fmt.Errorf("cache_bytes is %d, at least %d is needed", o.CacheBytes, 1<<20))
	}
	if o.BaseTimeout < 0 || o.CloseTimeout < 0 {
		errs = append(errs, fmt.Errorf("base_timeout is %s and close_timeout %s: none may be negative", o.BaseTimeout, o.CloseTimeout))
	}
	return errors.Join(errs...)
}
