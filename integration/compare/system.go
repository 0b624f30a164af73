package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// settings are what a job is run with.
type settings struct {
	brokers  string // the proxy's address
	in, out  string
	id       string // the job's name, its group, the prefix of its transactional IDs
	dir      string // belongs to the job, and stays when it is killed
	interval time.Duration
	timeout  time.Duration // of its transactions
}

// system is one of those compared.
type system struct {
	name string
	// timeout replaces the common transaction timeout, if not 0.
	timeout time.Duration
	// extra are more arguments of the program.
	extra []string
	// command says how to start the job, for the first time or again.
	command func(p programs, s settings) ([]string, error)
}

var systems = []system{
	{name: "weir", command: weir},
	{name: "streams", command: func(p programs, s settings) ([]string, error) {
		return append(java(p.classes+":"+p.streams, "compare.StreamsSums"), s.arguments()...), nil
	}},
	{name: "flink", command: flink},
	{name: "flink-pooling", command: flink, extra: []string{"naming=POOLING"}},
	{name: "flink-10m", command: flink, timeout: 10 * time.Minute},
}

func weir(p programs, s settings) ([]string, error) {
	file := filepath.Join(s.dir, "sums.yaml")
	// A checkpoint has to be given up before its transaction is: the rest is as it is by default.
	text := fmt.Sprintf(`job: %s
parallelism: 2
kafka:
  brokers: [%s]
source:
  numbers:
    topics: [%s]
    fields: {key: string, n: int, i: int}
operators:
  - name: by-key
    key_by: key
  - name: sum
    aggregate: {sum: sum(n)}
sink:
  sums:
    topic: %s
checkpoint:
  interval: %s
  timeout: %s
  transaction_timeout: %s
  storage: %s
  local_dir: %s
`, s.id, s.brokers, s.in, s.out, s.interval, s.timeout*2/5, s.timeout, filepath.Join(s.dir, "state"), filepath.Join(s.dir, "local"))
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return nil, err
	}
	return []string{p.processor, "run", file, "--address", "127.0.0.1:0"}, nil
}

// flink begins at the newest completed checkpoint, as a cluster with high availability does by itself.
func flink(p programs, s settings) ([]string, error) {
	args := append(java(p.classes+":"+p.flink, "compare.FlinkSums"), s.arguments()...)
	newest, err := newestCheckpoint(filepath.Join(s.dir, "checkpoints"))
	if newest != "" {
		args = append(args, "restore="+newest)
	}
	return args, err
}

// newestCheckpoint is the folder of the last completed checkpoint, "" if there is none: only those have metadata.
func newestCheckpoint(root string) (string, error) {
	var newest string
	var at time.Time
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "_metadata" {
			return err
		}
		info, err := d.Info()
		if err == nil && info.ModTime().After(at) {
			newest, at = filepath.Dir(path), info.ModTime()
		}
		return err
	})
	if os.IsNotExist(err) {
		err = nil
	}
	return newest, err
}

func java(classPath, class string) []string {
	return []string{
		"java", "-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC",
		"--add-opens=java.base/java.util=ALL-UNNAMED", "--add-opens=java.base/java.lang=ALL-UNNAMED",
		"-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", classPath, class,
	}
}

func (s settings) arguments() []string {
	return []string{
		"brokers=" + s.brokers, "in=" + s.in, "out=" + s.out, "id=" + s.id, "dir=" + s.dir,
		"interval=" + strconv.FormatInt(s.interval.Milliseconds(), 10),
		"timeout=" + strconv.FormatInt(s.timeout.Milliseconds(), 10),
	}
}
