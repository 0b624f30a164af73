package broker

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"time"
)

var (
	archivesMu sync.Mutex
	archives   = map[string]string{} // by folder of jars
)

// archiveOf returns a file with Kafka's classes as they are once they are loaded (class data sharing), which is made once
// and kept beside the jars: with it a node is ready with a third of the work. Without one, whatever the reason, a node only starts more
// slowly, so the answer is then "".
func archiveOf(ctx context.Context, jars, version string) string {
	archivesMu.Lock()
	defer archivesMu.Unlock()
	if file, known := archives[jars]; known {
		return file
	}
	file := jars + ".jsa"
	if _, err := os.Stat(file); err != nil {
		if err := writeArchive(ctx, jars, version, file); err != nil {
			file = ""
		}
	}
	if ctx.Err() == nil {
		archives[jars] = file
	}
	return file
}

// writeArchive runs a node once from its start to its end; the JVM writes the file when it ends.
func writeArchive(ctx context.Context, jars, version, file string) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	dir, err := os.MkdirTemp(filepath.Dir(file), "archive-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ports, err := choosePorts(1)
	if err != nil {
		return err
	}
	opts := Options{Version: version, Dir: dir, Light: true}
	opts.EnsureDefaults()
	b := &Broker{opts: opts, jars: jars, ports: ports[0]}
	if err := os.WriteFile(b.file("server.properties"), []byte(opts.properties(b.ports)), 0o644); err != nil {
		return err
	}
	if err := b.format(ctx); err != nil {
		return err
	}
	part := filepath.Join(dir, "classes.jsa")
	b.opts.Env = append(b.opts.Env, "JAVA_TOOL_OPTIONS=-XX:ArchiveClassesAtExit="+part)
	if err := b.Restart(ctx); err != nil {
		return err
	}
	b.Stop()
	if _, err := os.Stat(part); err != nil {
		return err
	}
	return os.Rename(part, file)
}
