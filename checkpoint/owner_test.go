package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func owner(topic, cluster string) Owner { return Owner{Job: "sums", Topic: topic, Cluster: cluster} }

func TestAStorageHasOneOwner(t *testing.T) {
	_, inS3 := s3Location(t, "bucket/weir")
	for _, location := range []string{"mem://", t.TempDir(), inS3} {
		store, err := OpenStore(t.Context(), location)
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		files := NewFiles(store, nil)
		mine := owner("weir.sums.checkpoints", "k")
		if owns, err := files.CheckOwner(t.Context(), mine); owns || err != nil {
			t.Errorf("nobody's: %t, %v", owns, err)
		}
		for range 2 {
			if err := files.Own(t.Context(), mine); err != nil {
				t.Fatal(err)
			}
		}
		for _, c := range []struct {
			name string
			asks Owner
			ok   bool
		}{
			{"the same", mine, true},
			{"a cluster that does not say who it is", owner(mine.Topic, ""), true},
			{"another prefix", owner("other.sums.checkpoints", "k"), false},
			{"another cluster", owner(mine.Topic, "l"), false},
			{"another job", Owner{Job: "else", Topic: "weir.else.checkpoints", Cluster: "l"}, true},
			{"another shard", Owner{Job: "sums", Shard: 1, Topic: mine.Topic, Cluster: "k"}, true},
		} {
			var owned *OwnedError
			if err := files.Own(t.Context(), c.asks); (err == nil) != c.ok || !c.ok && !errors.As(err, &owned) {
				t.Errorf("%s: %v", c.name, err)
			}
		}
		if is, err := files.Owner(t.Context(), "sums", 0); err != nil || *is != mine {
			t.Errorf("the owner is %+v, %v", is, err)
		}
	}
}

func TestOfManyWhoAskAtOnceOneOwnsTheStorage(t *testing.T) {
	_, inS3 := s3Location(t, "bucket/weir")
	for _, location := range []string{"mem://", t.TempDir(), inS3} {
		store, err := OpenStore(t.Context(), location)
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		var wg sync.WaitGroup
		errs := make([]error, 16)
		for i := range errs {
			wg.Go(func() {
				own := store
				if location != "mem://" { // as another process would
					if own, errs[i] = OpenStore(t.Context(), location); errs[i] != nil {
						return
					}
				}
				errs[i] = NewFiles(own, nil).Own(t.Context(), owner(strings.Repeat("x", i+1), "k"))
			})
		}
		wg.Wait()
		owners := 0
		for _, err := range errs {
			if err == nil {
				owners++
			} else if !errors.As(err, new(*OwnedError)) {
				t.Error(err)
			}
		}
		if owners != 1 {
			t.Errorf("%s: %d owners", location, owners)
		}
	}
}

func TestWhatIsNoOwnerFileRefusesAStart(t *testing.T) {
	for name, content := range map[string]string{"cut off": `{"job":"su`, "of something else": `{}`, "too long": strings.Repeat(" ", maxOwner+1)} {
		store, err := OpenStore(t.Context(), t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		if err := store.Put(t.Context(), OwnerName("sums", 0), strings.NewReader(content)); err != nil {
			t.Fatal(err)
		}
		err = NewFiles(store, nil).Own(t.Context(), owner("weir.sums.checkpoints", "k"))
		if err == nil || !errors.As(err, new(*OwnedError)) || !strings.Contains(err.Error(), "delete that file") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// unsure answers the first Put with an error after it has put the file there.
type unsure struct {
	Store
	puts int
}

func (u *unsure) Put(ctx context.Context, name string, content io.ReadSeeker) error {
	err := u.Store.Put(ctx, name, content)
	if u.puts++; u.puts == 1 {
		return errors.New("the answer is lost")
	}
	return err
}

func TestAnAnswerThatIsLostDoesNotHideTheOwner(t *testing.T) {
	store, err := OpenStore(t.Context(), "mem://")
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	u := &unsure{Store: store}
	if err := NewFiles(u, nil).Own(t.Context(), owner("weir.sums.checkpoints", "k")); err != nil || u.puts != 2 {
		t.Errorf("%v after %d tries", err, u.puts)
	}
}

// To collectors the owner file is none of theirs.
func TestTheOwnerFileIsNoGarbage(t *testing.T) {
	if name := OwnerName("sums", 0); AttemptOf(name) != "" || strings.HasPrefix(name, "sums/0/") {
		t.Errorf("%s could be taken for a file of an attempt", name)
	}
}

func TestAStoreThatIsOnlyReadIsNotChanged(t *testing.T) {
	dir := t.TempDir()
	if _, err := OpenStoreToRead(t.Context(), dir+"/none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a directory that is not there: %v", err)
	}
	if _, err := OpenStoreToRead(t.Context(), "file://"+dir+"/none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a directory that is not there: %v", err)
	}
	writer, err := OpenStore(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := writer.Put(t.Context(), "a/b", strings.NewReader("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenStoreToRead(t.Context(), dir+"/a/b"); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file: %v", err)
	}
	before := treeOf(t, dir)
	for _, location := range []string{dir, "file://" + dir} {
		s, err := OpenStoreToRead(t.Context(), location)
		if err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		listed, listErr := s.List(t.Context(), "")
		there, existErr := s.Exists(t.Context(), "a/b")
		if err := errors.Join(s.Get(t.Context(), "a/b", &got), listErr, existErr); err != nil || got.String() != "x" || len(listed) != 1 || !there {
			t.Errorf("%v, %q, %v, %t", err, &got, listed, there)
		}
		for _, err := range []error{s.Put(t.Context(), "c", strings.NewReader("y")), s.Delete(t.Context(), "a/b")} {
			if !errors.Is(err, fs.ErrPermission) {
				t.Errorf("a change: %v", err)
			}
		}
	}
	if after := treeOf(t, dir); after != before {
		t.Errorf("it was changed:\n%s\nwas\n%s", after, before)
	}
}

// treeOf lists a directory and all that is in it, with the times of their last change.
func treeOf(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil {
			fmt.Fprintln(&b, path, info.Size(), info.ModTime().UnixNano())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
