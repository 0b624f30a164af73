package cli

import (
	"io"
	"os"
)

// endWithStdin ends the process at once when standard input is closed. A parent holds the other end of it, so the process
// does not outlive a parent that was killed, on any operating system.
func endWithStdin() {
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(ExitSignal + 9)
	}()
}
