package demo

import (
	"bufio"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
)

// process is a child of the demonstration.
type process struct {
	cmd   *exec.Cmd
	stdin io.Closer // the child ends when this does
	// ended is closed when the child is gone and all that it printed has been read.
	ended chan struct{}

	mu   sync.Mutex
	last []string // the end of what it printed to standard error
}

// startProcess starts a child whose standard output and standard error are handed on line by line. Either func may be nil.
func startProcess(cmd *exec.Cmd, onOut, onErr func(string)) (*process, error) {
	p := &process{cmd: cmd, ended: make(chan struct{})}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	ownGroup(cmd)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p.stdin = stdin
	var wg sync.WaitGroup
	wg.Go(func() { eachLine(stdout, onOut) })
	wg.Go(func() {
		eachLine(stderr, func(line string) {
			p.remember(line)
			if onErr != nil {
				onErr(line)
			}
		})
	})
	go func() {
		wg.Wait()
		cmd.Wait() // how it ended is in ProcessState
		close(p.ended)
	}()
	return p, nil
}

func eachLine(r io.Reader, do func(string)) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if do != nil {
			do(lines.Text())
		}
	}
	io.Copy(io.Discard, r) // a line that is too long
}

func (p *process) remember(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last = append(p.last, line); len(p.last) > 20 {
		p.last = p.last[1:]
	}
}

// kill ends the child with SIGKILL and waits until it is gone. It may be called again.
func (p *process) kill() {
	p.cmd.Process.Kill()
	<-p.ended
}

func (p *process) running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// death says how the child ended, and the last that it said.
func (p *process) death() error {
	<-p.ended
	p.mu.Lock()
	defer p.mu.Unlock()
	return fmt.Errorf("%s %s: %s\n%s", p.cmd.Args[0], strings.Join(p.cmd.Args[1:], " "), p.cmd.ProcessState, strings.Join(p.last, "\n"))
}
