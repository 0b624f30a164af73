package checkpoint

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

// stuck is a disk that does not answer.
type stuck struct{}

func (stuck) Write(p []byte) (int, error) {
	<-time.After(time.Second) // of the bubble's time
	return len(p), nil
}

func (stuck) Read(p []byte) (int, error) {
	<-time.After(time.Second)
	return len(p), nil
}

func (stuck) Seek(int64, int) (int64, error) { return 0, nil }

// Rule 20: a call ends a minute later at the latest, also if its context never does.
func TestEveryCallOfAStoreHasADeadline(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "long"), bytes.Repeat([]byte{1}, 24<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		store, err := openDirectory(root)
		if err != nil {
			t.Fatal(err)
		}
		for name, call := range map[string]func() error{
			"get": func() error { return store.Get(t.Context(), "long", struct{ io.Writer }{stuck{}}) },
			"put": func() error { return store.Put(t.Context(), "endless", stuck{}) },
		} {
			began := time.Now()
			ended := make(chan error, 1)
			go func() { ended <- call() }()
			select {
			case err := <-ended:
				if err == nil || time.Since(began) > 2*callTimeout {
					t.Errorf("%s ended after %s: %v", name, time.Since(began), err)
				}
			case <-time.After(10 * callTimeout):
				t.Errorf("%s does not end", name)
				return
			}
		}
	})
}
