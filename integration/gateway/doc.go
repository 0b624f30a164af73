// Package gateway starts a real S3 server for scenarios: versitygw, which keeps objects as files of a directory. It speaks the
// protocol as S3 does where a store needs it: signatures, conditional puts, uploads in parts, listings in pages, users with
// and without rights, error codes.
package gateway
