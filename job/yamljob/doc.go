// Package yamljob makes a job out of a YAML file: [Load] reads it, checks everything that can be checked without a broker,
// and builds the same [job.Graph] that a Go program would. The layout is described in docs/formats/job-yaml.md.
//
// Every mistake is reported, all at once, one line each, with file, line, column, the part of the job, and a suggestion
// where one is near. The schema of each step is known at load: expressions are parsed, checked and compiled then.
//
// At run time a record is a row of typed values (internal/row), an expression a closure over it (internal/expression), an
// accumulator a few words (internal/aggregate). Nothing is looked up by name.
package yamljob
