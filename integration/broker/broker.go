package broker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirstream/weir/integration/child"
)

// startTimeout is how long a node may take until it answers; a new one takes 3 to 6 s on two idle cores.
const startTimeout = 90 * time.Second

// Broker is one running node. Its methods are called from one goroutine at a time.
type Broker struct {
	opts Options
	jars string
	// archive holds loaded classes, "" for none.
	archive string
	ports   ports
	cmd     *exec.Cmd
	ended   chan struct{} // closed when the process has ended
}

// Start formats the storage, starts the node and returns when it answers. The caller stops it with Stop or Kill.
func Start(ctx context.Context, opts Options) (*Broker, error) {
	opts.EnsureDefaults()
	ports, err := choosePorts(1)
	if err != nil {
		return nil, err
	}
	b, err := prepare(ctx, opts, ports[0])
	if err != nil {
		return nil, err
	}
	if err := b.format(ctx); err != nil {
		return nil, err
	}
	if err := b.Restart(ctx); err != nil {
		return nil, err
	}
	return b, nil
}

// prepare writes the node's configuration.
func prepare(ctx context.Context, opts Options, p ports) (*Broker, error) {
	jars, err := Jars(ctx, opts.Version)
	if err != nil {
		return nil, err
	}
	if opts.Port != 0 {
		p.plain = opts.Port
	}
	b := &Broker{opts: opts, jars: jars, archive: archiveOf(ctx, jars, opts.Version), ports: p}
	return b, os.WriteFile(b.file("server.properties"), []byte(opts.properties(p)), 0o644)
}

// format makes the node's storage.
func (b *Broker) format(ctx context.Context) error {
	args := append(b.jvm("64m"), b.opts.formatArgs(b.file("server.properties"))...)
	if out, err := exec.CommandContext(ctx, "java", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("format the storage of Kafka %s: %w: %s", b.opts.Version, err, reason(out))
	}
	return nil
}

// Restart starts a stopped or killed node again on the same ports and data, and returns when it answers.
func (b *Broker) Restart(ctx context.Context) error {
	if err := b.launch(); err != nil {
		return err
	}
	if err := b.waitReady(ctx); err != nil {
		b.Kill()
		return fmt.Errorf("kafka %s: %w\n%s", b.opts.Version, err, b.LogTail(20))
	}
	return nil
}

// launch starts the process and does not wait for it.
func (b *Broker) launch() error {
	log, err := os.OpenFile(b.file("server.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	args := append(b.jvm(b.opts.Heap), "kafka.Kafka", b.file("server.properties"))
	cmd := exec.Command("java", args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(os.Environ(), b.opts.Env...)
	cmd.SysProcAttr = child.EndWithParent()
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		cmd.Wait()
		close(ended)
	}()
	b.cmd, b.ended = cmd, ended
	return nil
}

// Addr is the plain listener's host:port.
func (b *Broker) Addr() string { return fmt.Sprintf("127.0.0.1:%d", b.ports.plain) }

// SASLAddr is the host:port of the listener that asks for a password; there is one if Options.Users is set.
func (b *Broker) SASLAddr() string { return fmt.Sprintf("127.0.0.1:%d", b.ports.sasl) }

// ID is the node's number in its cluster, from 1 on.
func (b *Broker) ID() int32 { return int32(b.opts.place.id) }

// Data is the folder of the node's logs: one folder for each partition, named TOPIC-PARTITION.
func (b *Broker) Data() string { return b.opts.Data }

// SetEnv changes what is added to the JVM's environment from the next Restart on.
func (b *Broker) SetEnv(env []string) { b.opts.Env = env }

// Ended is closed when the node has ended, by itself or not. Restart makes a new one.
func (b *Broker) Ended() <-chan struct{} { return b.ended }

// Running reports whether the node has not ended; one that is frozen runs.
func (b *Broker) Running() bool {
	select {
	case <-b.ended:
		return false
	default:
		return true
	}
}

// PID is the process ID of the running node.
func (b *Broker) PID() int { return b.cmd.Process.Pid }

// Stop ends the node as an operator would and waits for it; after 30 s it kills it.
func (b *Broker) Stop() {
	if b.cmd == nil {
		return
	}
	b.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-b.ended:
	case <-time.After(30 * time.Second):
		b.Kill()
	}
}

// Kill ends the node with SIGKILL and waits until it is gone. Restart brings it back.
func (b *Broker) Kill() {
	if b.cmd == nil {
		return // it was never started
	}
	b.cmd.Process.Signal(syscall.SIGCONT)
	b.cmd.Process.Kill()
	<-b.ended
}

// Pause stops the node without ending it (SIGSTOP): its connections stay open and nothing answers. Resume undoes it.
func (b *Broker) Pause() { b.cmd.Process.Signal(syscall.SIGSTOP) }

// Resume lets a paused node go on.
func (b *Broker) Resume() { b.cmd.Process.Signal(syscall.SIGCONT) }

// LogTail returns the last lines of the node's log.
func (b *Broker) LogTail(lines int) string {
	data, err := os.ReadFile(b.file("server.log"))
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimSpace(string(data)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// waitReady returns when the node answers a metadata request.
func (b *Broker) waitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	cl, err := kgo.NewClient(kgo.SeedBrokers(b.Addr()))
	if err != nil {
		return err
	}
	defer cl.Close()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		once, cancelOnce := context.WithTimeout(ctx, 2*time.Second)
		err := cl.Ping(once)
		cancelOnce()
		if err == nil {
			return nil
		}
		select {
		case <-b.ended:
			return errors.New("the process ended before it answered")
		case <-ctx.Done():
			return fmt.Errorf("no answer within %s: %w", startTimeout, err)
		case <-tick.C:
		}
	}
}

// jvm are the arguments before the class name. The serial collector leaves the cores to the test; so does a light node's
// compiler.
func (b *Broker) jvm(heap string) []string {
	args := []string{"-Xmx" + heap, "-XX:+UseSerialGC", "-XX:-UsePerfData"}
	if b.opts.Light {
		args = append(args, "-XX:TieredStopAtLevel=1")
	}
	if b.archive != "" {
		args = append(args, "-XX:SharedArchiveFile="+b.archive)
	}
	return append(args, "-cp", filepath.Join(b.jars, "*"))
}

func (b *Broker) file(name string) string { return filepath.Join(b.opts.Dir, name) }
