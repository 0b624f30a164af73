// Command processor runs jobs that YAML files describe, and shows how with a demonstration: processor demo.
package main

import (
	"os"

	"github.com/weirstream/weir/job/cli"
)

func main() { os.Exit(cli.Main(os.Args)) }
