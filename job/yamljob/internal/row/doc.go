// Package row holds the records of a YAML job: typed values by position instead of Go structs. A [Schema] is known when
// the job is loaded; at run time a [Row] is a slice of [Value], read and written as JSON in place.
//
// Invariant: a Row and its values never change once they were handed on. Strings share the bytes of the record they came
// from, or those of an [Arena]; both live as long as somebody holds them.
//
// What is done to rows is left to package expression and package aggregate.
package row
