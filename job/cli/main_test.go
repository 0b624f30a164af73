package cli

import (
	"bytes"
	"os"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

// asProcessor, in the environment, makes the test binary behave as the program: the tests' children are this binary.
const asProcessor = "WEIR_TEST_AS_PROCESSOR"

func TestMain(m *testing.M) {
	if os.Getenv(asProcessor) != "" {
		os.Exit(Main(os.Args))
	}
	// A test must not depend on what the caller's shell has set.
	for _, name := range []string{"KAFKA_BROKERS", "WEIR_ADDRESS", "WEIR_TOKEN", "WEIR_TOKEN_FILE", "WEIR_LOG_FORMAT", "WEIR_LOG_LEVEL"} {
		os.Unsetenv(name)
	}
	goleak.VerifyTestMain(m)
}

// output is what a command prints; it may be read while the command runs.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// call runs one command in this process.
func call(args ...string) (code int, stdout, stderr string) {
	var out, err output
	p := &program{name: "processor", stdout: &out, stderr: &err}
	code = p.main(append([]string{"processor"}, args...))
	return code, out.String(), err.String()
}
