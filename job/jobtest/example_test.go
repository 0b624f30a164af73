package jobtest_test

import (
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/weirstream/weir/job/jobtest"
)

// A job counts the records of each user. It is killed when it has asked the broker to commit its second checkpoint and does
// not know the answer; another process goes on where the first one was.
func Example() {
	t := newT() // in a test of your own: its *testing.T
	defer t.finish()

	c := jobtest.New(t)
	c.Produce("views", jobtest.KV("ann", "/"), jobtest.KV("bob", "/"), jobtest.KV("ann", "/buy"))
	first := c.Run(counts(), jobtest.CrashAt("commit-sent", 2))
	fmt.Println(first.Wait())

	second := c.Run(counts())
	c.Produce("views", jobtest.KV("ann", "/"))
	fmt.Println(c.WaitForRecords("counts", 4).ByKey())
	second.Stop()

	// Output:
	// crashed by the test
	// map[ann:[1 2 3] bob:[1]]
}

// exampleT stands in for a *testing.T, which an example has not.
type exampleT struct {
	testing.TB
	cleanups []func()
}

func newT() *exampleT { return &exampleT{} }

func (t *exampleT) Helper()                      {}
func (t *exampleT) Cleanup(f func())             { t.cleanups = append(t.cleanups, f) }
func (t *exampleT) Output() io.Writer            { return io.Discard }
func (t *exampleT) Fatal(args ...any)            { panic(fmt.Sprint(args...)) }
func (t *exampleT) Fatalf(f string, args ...any) { panic(fmt.Sprintf(f, args...)) }

func (t *exampleT) TempDir() string {
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		panic(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func (t *exampleT) finish() {
	for i := len(t.cleanups) - 1; i >= 0; i-- {
		t.cleanups[i]()
	}
}
