// Command kafka runs a real Apache Kafka on this machine until it is interrupted, for trying things by hand and for
// measurements: one node, empty, its data in a temporary folder unless -dir says otherwise.
//
//	go run ./integration/kafka -port 19092
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"github.com/weirstream/weir/integration/broker"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "kafka:", err)
		os.Exit(1)
	}
}

func run() error {
	opts := broker.Options{Features: map[string]string{}, Properties: map[string]string{}}
	flag.StringVar(&opts.Version, "version", broker.Newest, "version of Kafka")
	flag.IntVar(&opts.Port, "port", 9092, "port to listen on, on 127.0.0.1")
	flag.StringVar(&opts.Dir, "dir", "", "folder for data, configuration and log (default: a temporary one, removed at the end)")
	flag.StringVar(&opts.Heap, "heap", "1g", "the JVM's -Xmx")
	flag.Func("feature", "name=value: a format option, for example transaction.version=0", pair(opts.Features))
	flag.Func("property", "name=value: a line of server.properties", pair(opts.Properties))
	pidFile := flag.String("pid-file", "", "file to write the broker's process ID to")
	flag.Parse()

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
	<-ctx.Done()
	return nil
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
