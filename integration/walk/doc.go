// Package walk reads a document whose commands a test runs: what its fenced blocks say to do, and whether what was
// printed is what they show. Anything else in the document is for people.
//
//	```yaml   a file; its first line names it: # clicks.yaml
//	```sh     commands, one a line. A line that ends with & is to run beside the others. One that ends with
//	          # exit code 8 is to end so, the others with 0. A block that begins with the comment
//	          # again until ... is repeated until its output is what is shown.
//	```text   what the commands before it print, shortened: a line of ... stands for any lines, ... within a line for
//	          any text
//
// What differs from run to run counts as equal: UUIDs and their first eight digits, hashes, times, durations, sizes, the
// numbers of checkpoints, and how wide a table is. Everything else, counts and offsets above all, has to be as shown.
package walk
