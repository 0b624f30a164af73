package docgen

import (
	"flag"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "write docs/configuration.md")

func TestConfigurationPageIsUpToDate(t *testing.T) {
	const path = "../../docs/configuration.md"
	want, err := Generate("../..")
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not what the option structs say: run go test ./internal/docgen -update", path)
	}
}
