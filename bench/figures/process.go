package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/weirstream/weir/integration/child"
)

// process is a running job.
type process struct {
	cmd     *exec.Cmd
	started time.Time
	ended   chan struct{} // closed when the process has ended
}

// spec says which job to run.
type spec struct {
	job, in, out string
	// work is w1 to w4; empty for w3.
	work     string
	interval time.Duration
	// yaml runs the YAML file instead of the Go job.
	yaml bool
	// address is where the job listens, "off" for nowhere.
	address string
	// memory is the budget for state, empty for the engine's default.
	memory string
	// extra are flags of the Go job.
	extra []string
}

// program is how the CSV file names what runs.
func (s spec) program() string {
	if s.yaml {
		return "weir-yaml"
	}
	return "weir"
}

// run starts a job of Weir. Its output goes to a log in the bench's folder, its state to a folder of the job.
func (b *bench) run(s spec) (*process, error) {
	dir := filepath.Join(b.dir, s.job)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	work := s.work
	if work == "" {
		work = "w3"
	}
	if s.yaml {
		args := []string{"run", filepath.Join(b.settings.jobs, work+".yaml"), "--address", s.address,
			"--set", "kafka.brokers=" + b.brokers, "--set", "job=" + s.job, "--set", "source.events.topics=" + s.in,
			"--set", "sink.out.topic=" + s.out, "--set", "checkpoint.interval=" + s.interval.String(),
			"--set", "checkpoint.storage=" + dir + "/state", "--set", "checkpoint.local_dir=" + dir + "/local"}
		if s.memory != "" {
			args = append(args, "--set", "checkpoint.memory="+s.memory)
		}
		return start(dir+".log", "", filepath.Join(b.bin, "processor"), append(args, s.extra...)...)
	}
	args := []string{"-work", work, "-brokers", b.brokers, "-in", s.in, "-out", s.out, "-group", s.job,
		"-interval", s.interval.String(), "-dir", dir, "-address", s.address}
	if s.memory != "" {
		args = append(args, "-memory", s.memory)
	}
	return start(dir+".log", "", filepath.Join(b.bin, "weir"), append(args, s.extra...)...)
}

// start starts a program in a folder, empty for this one; what it prints goes to a log.
func start(logFile, folder, path string, args ...string) (*process, error) {
	log, err := os.OpenFile(logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	p := &process{cmd: exec.Command(path, args...), ended: make(chan struct{})}
	p.cmd.Dir = folder
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = child.EndWithParent()
	p.started = time.Now()
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		p.cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

// kill ends the process with SIGKILL and waits until it is gone.
func (p *process) kill() {
	p.cmd.Process.Kill()
	<-p.ended
}

// stop ends the process as an operator would.
func (p *process) stop() error {
	p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(30 * time.Second):
		p.kill()
		return errors.New("the job still ran 30s after SIGTERM")
	}
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		return fmt.Errorf("the job ended with %s", p.cmd.ProcessState)
	}
	return nil
}

// resident is the process's resident memory in MB (10^6 bytes).
func (p *process) resident() (float64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return kib * 1024 / 1e6, err
		}
	}
	return 0, errors.New("no VmRSS in /proc")
}

// cpu is the CPU time that the process has used, in seconds.
func (p *process) cpu() (float64, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	// Behind the name, which may hold anything but ends with the last ")", user and system time are the 12th and 13th field.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 13 {
		return 0, errors.New("no CPU time in /proc")
	}
	user, err1 := strconv.ParseFloat(fields[11], 64)
	system, err2 := strconv.ParseFloat(fields[12], 64)
	return (user + system) / ticks, errors.Join(err1, err2)
}

// ticks are the units a second that /proc counts CPU time in: USER_HZ, 100 wherever Go runs on Linux.
const ticks = 100

// written is how many bytes the process has caused to be written to disks.
func (p *process) written() (float64, error) {
	io, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(io)) {
		if rest, ok := strings.CutPrefix(line, "write_bytes:"); ok {
			return strconv.ParseFloat(strings.TrimSpace(rest), 64)
		}
	}
	return 0, errors.New("no write_bytes in /proc")
}

// freeAddress is one of this machine on which nothing listens.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

var browser = http.Client{Timeout: 2 * time.Second}

// get fetches a page of a job; the status is 0 if nothing answers.
func get(address, path string) (status int, page string) {
	resp, err := browser.Get("http://" + address + path)
	if err != nil {
		return 0, ""
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, ""
	}
	return resp.StatusCode, string(body)
}

// metric adds up the samples of one metric, 0 if there are none.
func metric(page, name string) (sum float64) {
	for line := range strings.Lines(page) {
		rest, ok := strings.CutPrefix(line, name)
		if !ok || rest == "" || rest[0] != '{' && rest[0] != ' ' {
			continue
		}
		v, err := strconv.ParseFloat(strings.TrimSpace(rest[strings.LastIndexByte(rest, ' '):]), 64)
		if err == nil {
			sum += v
		}
	}
	return sum
}
