// Package jsontext walks JSON text (RFC 8259) in place and appends JSON text, without building anything between. It is what
// the rows of YAML jobs and the typed values of Go jobs (package typed) have in common.
//
// The Scan functions take a text and the position of what they are to scan, and return the position after it. A negative
// position is an error at ^position, which [SyntaxError] puts into words. The Append functions write what encoding/json
// writes when it does not escape HTML.
//
// Invariant: a text is JSON here if encoding/json's Valid says so. Only bytes that are not UTF-8 are nobody's mistake: they
// are kept when a string is read and become U+FFFD when one is written.
package jsontext
