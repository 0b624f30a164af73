package main

import (
	"github.com/weirstream/weir/job"
	"github.com/weirstream/weir/job/yamljob"
)

// yamlGraph is the graph of a job file whose source is named events and whose sink out, as those of bench/jobs are, over other
// topics. The error has every mistake of the file.
func yamlGraph(file, in, out string) (*job.Graph, error) {
	loaded, err := yamljob.Load(file, yamljob.LoadOptions{Set: []string{"source.events.topics=" + in, "sink.out.topic=" + out}})
	if err != nil {
		return nil, err
	}
	return loaded.Graph, nil
}
