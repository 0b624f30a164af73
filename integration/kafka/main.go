// Command kafka runs a real Apache Kafka on this machine until it is interrupted, for trying things by hand and for
// measurements: one node, empty, its data in a temporary folder unless -dir says otherwise.
//
//	go run ./integration/kafka -port 19092
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"github.com/weirstream/weir/integration/broker"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "kafka:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("kafka", flag.ExitOnError)
	opts := broker.Options{Features: map[string]string{}, Properties: map[string]string{}}
	flags.StringVar(&opts.Version, "version", broker.Newest, "version of Kafka")
	flags.IntVar(&opts.Port, "port", 9092, "port to listen on, on 127.0.0.1")
	flags.StringVar(&opts.Dir, "dir", "", "folder for data, configuration and log (default: a temporary one, removed at the end)")
	flags.StringVar(&opts.Heap, "heap", "1g", "the JVM's -Xmx")
	flags.Func("feature", "name=value: a format option, for example transaction.version=0", pair(opts.Features))
	flags.Func("property", "name=value: a line of server.properties", pair(opts.Properties))
	pidFile := flags.String("pid-file", "", "file to write the broker's process ID to")
	flags.Parse(args)
	if flags.NArg() > 0 {
		return fmt.Errorf("unknown argument %q: there are only flags, see -help", flags.Arg(0))
	}
	if err := free(opts.Port); err != nil {
		return err
	}
	if opts.Dir == "" {
		dir, err := os.MkdirTemp("", "kafka-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		opts.Dir = dir
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	b, err := broker.Start(ctx, opts)
	if err != nil {
		return err
	}
	defer b.Stop()
	if *pidFile != "" {
		if err := os.WriteFile(*pidFile, []byte(strconv.Itoa(b.PID())+"\n"), 0o644); err != nil {
			return err
		}
	}
	fmt.Printf("Kafka %s listens on %s, its log is %s/server.log\n", opts.Version, b.Addr(), opts.Dir)
	select {
	case <-ctx.Done():
		return nil
	case <-b.Ended():
		return fmt.Errorf("the broker has ended by itself\n%s", b.LogTail(20))
	}
}

// free reports a port that somebody has: another broker there would answer in place of the one that cannot start.
func free(port int) error {
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("port %d of 127.0.0.1 is in use: does a Kafka run there already? -port chooses another one", port)
	}
	if err != nil {
		return err
	}
	return l.Close()
}

func pair(into map[string]string) func(string) error {
	return func(s string) error {
		name, value, ok := strings.Cut(s, "=")
		if !ok {
			return fmt.Errorf("%q is not name=value", s)
		}
		into[name] = value
		return nil
	}
}
