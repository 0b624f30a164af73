package checkpoint

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

func TestAPlaceThatNoStoreTakesIsAMistakeOfTheOptions(t *testing.T) {
	for location, want := range map[string]string{
		"s4://b/x":                  `storage: s4://b/x: unknown scheme "s4": want a directory or s3://BUCKET/PATH`,
		"s3://KEY:hush@b/x":         "storage: s3://b/x: keys do not belong into the URL",
		"s3:///x":                   "storage: s3:///x: no bucket: want s3://BUCKET/PATH",
		"s3://b/x?endpont=http://e": `storage: s3://b/x: unknown query parameter "endpont" (did you mean "endpoint"?)`,
		"s3://b/x?colour=red":       `storage: s3://b/x: unknown query parameter "colour"`,
		"s3://b/x?endpoint=e":       "storage: s3://b/x: endpoint: want a URL such as https://s3.example.org",
		"s3://b/%zz?token=hush":     "storage: s3://...: not a URL",
		"s3://b/x?endpoint=http://e&use_path_style=true&region=r": "",
		"file:///var/lib/weir": "",
		"weir-state":           "",
		"mem://x":              "",
	} {
		o := Options{Storage: location}
		o.EnsureDefaults()
		err := o.Validate()
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", location, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v; want %s", location, err, want)
		case err != nil && strings.Contains(err.Error(), "hush"):
			t.Errorf("%s: a secret is in the error: %v", location, err)
		}
	}
}

// A directory that cannot be made because of what is above it, as below /proc on Linux, is no file of a checkpoint that is gone.
func TestADirectoryThatCannotBeMadeIsAPathError(t *testing.T) {
	_, err := openDirectoryOn(nothingAbove{vfs.NewMem()}, "/above/state")
	if path := (*fs.PathError)(nil); !errors.As(err, &path) || err.Error() != "storage /above/state: cannot be written: no such file or directory" {
		t.Errorf("%v", err)
	}
}

type nothingAbove struct{ vfs.FS }

func (nothingAbove) MkdirAll(dir string, _ os.FileMode) error {
	return &fs.PathError{Op: "mkdir", Path: dir, Err: syscall.ENOENT}
}
