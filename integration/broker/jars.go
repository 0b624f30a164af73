package broker

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// The versions that the scenarios run on: the newest supported, and the oldest.
const (
	Newest = "4.4.0"
	Oldest = "3.9.1"
)

//go:embed pom.xml
var pom []byte

// Dir returns the folder that keeps Kafka's jars and the test data: $WEIR_KAFKA_DIR, or weir in the user's cache folder.
func Dir() (string, error) {
	if dir := os.Getenv("WEIR_KAFKA_DIR"); dir != "" {
		return dir, nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no cache folder: set WEIR_KAFKA_DIR: %w", err)
	}
	return filepath.Join(dir, "weir"), nil
}

// Jars returns the folder with the jars of a version of Kafka. If it is not there, Maven brings it (60 MB, once).
func Jars(ctx context.Context, version string) (string, error) {
	if _, err := exec.LookPath("java"); err != nil {
		return "", errors.New("no java on the PATH: install Java 17 or later (Debian: apt-get install openjdk-17-jre-headless)")
	}
	cache, err := Dir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "kafka-"+version)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if _, err := exec.LookPath("mvn"); err != nil {
		return "", fmt.Errorf("no mvn on the PATH to bring Kafka %s to %s: install Maven (Debian: apt-get install maven)", version, dir)
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	work, err := os.MkdirTemp(cache, "kafka-"+version+".part-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	file := filepath.Join(work, "pom.xml")
	if err := os.WriteFile(file, pom, 0o644); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	libs := filepath.Join(work, "libs")
	cmd := exec.CommandContext(ctx, "mvn", "-q", "-B", "-f", file, "dependency:copy-dependencies",
		"-Dkafka.version="+version, "-DoutputDirectory="+libs)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("maven: Kafka %s: %w: %s", version, err, reason(out))
	}
	// Another process may have brought the same version meanwhile: a rename onto a full folder fails, and its jars do.
	if err := os.Rename(libs, dir); err != nil {
		if _, statErr := os.Stat(dir); statErr != nil {
			return "", err
		}
	}
	return dir, nil
}

// reason finds the line of a program's output that says why it failed: the first one that speaks of an exception or an
// error, else the last.
func reason(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(bytes.ToValidUTF8(out, nil))), "\n")
	for _, line := range lines {
		if strings.Contains(line, "Exception") || strings.Contains(line, "ERROR") {
			return line
		}
	}
	return lines[len(lines)-1]
}
