package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/weirstream/weir/internal/web"
)

// jobProcess is the job: at any moment one process, or the next one.
type jobProcess struct {
	o      *Options
	dir    string
	file   string
	broker string

	mu      sync.Mutex
	current *process
	address string // HTTP, of the current process once it listens
}

func (j *jobProcess) start() error {
	cmd := exec.Command(j.o.Program, "run", j.file, "--address", "127.0.0.1:0", "--log-format", "json", "--end-with-stdin",
		"--set", "parallelism=2",
		"--set", "checkpoint.storage="+filepath.Join(j.dir, "state"), "--set", "checkpoint.local_dir="+filepath.Join(j.dir, "local"))
	cmd.Dir = j.dir
	cmd.Env = append(append(os.Environ(), "KAFKA_BROKERS="+j.broker), j.o.Env...)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.address = ""
	p, err := startProcess(cmd, nil, j.log)
	if err != nil {
		return err
	}
	j.current = p
	return nil
}

// log looks for the address in what the job logs.
func (j *jobProcess) log(line string) {
	var m struct{ Msg, Address string }
	if json.Unmarshal([]byte(line), &m) == nil && m.Msg == "starting" {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.address = m.Address
	}
}

func (j *jobProcess) process() *process {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.current
}

// status asks the job what it does; false if it does not answer, as while it is being killed.
func (j *jobProcess) status(ctx context.Context) (web.Status, bool) {
	j.mu.Lock()
	address := j.address
	j.mu.Unlock()
	if address == "" {
		return web.Status{}, false
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	st, err := (&web.Client{Address: address}).Status(ctx)
	return st, err == nil
}

// http is the job's HTTP address, as far as it is known.
func (j *jobProcess) http() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.address
}

// stop ends the job as a user would, and waits until it has taken its last checkpoint.
func (j *jobProcess) stop(within time.Duration) error {
	p := j.process()
	if err := p.terminate(); err != nil {
		return p.death()
	}
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-p.ended:
		if p.cmd.ProcessState.ExitCode() != 0 {
			return p.death()
		}
		return nil
	case <-timer.C:
		p.kill()
		return fmt.Errorf("the job did not end within %s of SIGTERM", within)
	}
}
