package compose

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weirstream/weir/integration/harness"
)

// Kafka is the image that docker-compose.yml names.
const Kafka = "apache/kafka:4.4.0"

// Engine makes sure that a Docker engine answers and that docker-compose is there. As root on Debian it installs them, and
// starts the engine until the test ends; otherwise a test that has none is skipped, with what is missing.
func Engine(t testing.TB) {
	t.Helper()
	if !there("docker") || Command() == nil {
		if os.Getuid() != 0 || !there("apt-get") {
			t.Skip("no docker and docker-compose, and not root on Debian to install them")
		}
		t.Log("installing docker.io and docker-compose")
		if out, err := run(10*time.Minute, "", "sh", "-c", "apt-get -qq update; DEBIAN_FRONTEND=noninteractive apt-get -qq install -y docker.io docker-compose"); err != nil {
			t.Skipf("docker.io and docker-compose cannot be installed: %v\n%s", err, out)
		}
	}
	if answers() {
		return
	}
	if os.Getuid() != 0 || !there("dockerd") {
		t.Skip("no Docker engine answers, and not root to start one (dockerd)")
	}
	engine := harness.Program{Path: "dockerd", Args: []string{"--log-level", "warn"}}.Start(t)
	t.Cleanup(func() { // before it is killed: what it runs ends with it
		engine.Terminate()
		for deadline := time.Now().Add(30 * time.Second); engine.Running() && time.Now().Before(deadline); {
			harness.Pass(context.Background(), 100*time.Millisecond)
		}
	})
	harness.Until(t, time.Minute, "a Docker engine", func() (bool, string) {
		if !engine.Running() {
			t.Skipf("dockerd does not run here:\n%s", engine.Output())
		}
		return answers(), "it does not answer"
	})
}

func answers() bool {
	_, err := run(10*time.Second, "", "docker", "info")
	return err == nil
}

func there(program string) bool {
	_, err := exec.LookPath(program)
	return err == nil
}

// Command is how docker-compose is called here, nil if it is not.
func Command() []string {
	if _, err := run(10*time.Second, "", "docker", "compose", "version"); err == nil {
		return []string{"docker", "compose"}
	}
	if there("docker-compose") {
		return []string{"docker-compose"}
	}
	return nil
}

// Images makes the images that are not there: Weir's from this source, as `make image` does, and a real Kafka: pulled, or
// where no image registry can be reached, built from its jars (standin-image/).
func Images(t testing.TB, root string) {
	t.Helper()
	if out, err := run(10*time.Minute, root, "make", "image"); err != nil {
		t.Fatalf("make image: %v\n%s", err, out)
	}
	if _, err := run(20*time.Second, "", "docker", "image", "inspect", Kafka); err == nil {
		return
	}
	if _, err := run(15*time.Second, "", "docker", "manifest", "inspect", Kafka); err == nil {
		if _, err := run(10*time.Minute, "", "docker", "pull", "-q", Kafka); err == nil {
			return
		}
	}
	if !there("debootstrap") {
		if out, err := run(10*time.Minute, "", "sh", "-c", "DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends debootstrap"); err != nil {
			t.Skipf("no %s, no image registry, and no debootstrap to build it with: %v\n%s", Kafka, err, out)
		}
	}
	t.Logf("building %s, since no image registry can be reached", Kafka)
	if out, err := run(15*time.Minute, root, filepath.Join("integration", "standin-image", "build.sh")); err != nil {
		t.Fatalf("standin-image/build.sh: %v\n%s", err, out)
	}
}

// run runs a command and returns what it prints.
func run(within time.Duration, dir, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.WaitDelay = 5 * time.Second // what it has started may hold its output open
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		err = fmt.Errorf("it takes longer than %s", within)
	}
	return strings.TrimSpace(string(out)), err
}
