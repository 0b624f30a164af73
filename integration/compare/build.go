package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/weirstream/weir/integration/harness"
)

// programs are the built jobs.
type programs struct {
	processor string // of Weir
	classes   string // folder of the compiled Java classes
	flink     string // class paths of the jars
	streams   string
}

// build compiles what the systems need. The working folder is the repository's root.
func build(dir string, java bool) (programs, error) {
	p := programs{classes: filepath.Join(dir, "classes")}
	var err error
	if p.processor, err = harness.Build("./cmd/processor"); err != nil || !java {
		return p, err
	}
	if p.flink, err = jars("flink"); err != nil {
		return p, err
	}
	if p.streams, err = jars("streams"); err != nil {
		return p, err
	}
	for source, jars := range map[string]string{"FlinkSums.java": p.flink, "StreamsSums.java": p.streams} {
		err := run("javac", "--release", "17", "-d", p.classes, "-cp", jars, filepath.Join("integration", "compare", "java", source))
		if err != nil {
			return p, err
		}
	}
	return p, nil
}

// jars returns the class path of a peer's dependencies, which Maven brings if they are not there.
func jars(peer string) (string, error) {
	folder, err := filepath.Abs(filepath.Join("bench", "peers", "java", peer))
	if err != nil {
		return "", err
	}
	libs := filepath.Join(folder, "target", "libs")
	if _, err := os.Stat(libs); err != nil {
		if err := run("mvn", "-q", "-B", "-f", filepath.Join(folder, "pom.xml"), "package"); err != nil {
			return "", err
		}
	}
	return filepath.Join(libs, "*"), nil
}

func run(name string, args ...string) error {
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, out)
	}
	return nil
}
