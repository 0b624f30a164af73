package runtime

// task is a chain of steps that run in one goroutine per subtask and call each other directly.
type task struct {
	name        string // of its first step
	nodes       []*Node
	parallelism int
	inputs      []*edge // from other tasks
	outputs     []*edge // to other tasks
}

// edge is an exchange between two tasks.
type edge struct {
	from, to   *Node
	fromTask   *task
	toTask     *task
	input      Input
	port       int
	mode       routeMode
	firstInput int // the edge's first channel in the gate of a subtask of toTask
}

// channels is how many channels the edge has in the gate of each downstream subtask.
func (e *edge) channels() int {
	if e.mode == forward {
		return 1
	}
	return e.fromTask.parallelism
}

// plan divides a graph into tasks: a step joins the task before it if all its inputs come from there, in the same
// number of subtasks, and no event has to change its subtask.
func plan(g *Graph, parallelism int) []*task {
	var tasks []*task
	of := map[*Node]*task{}
	for _, n := range g.Nodes {
		p := n.Parallelism
		if p == 0 {
			p = parallelism
		}
		t := joins(n, p, of)
		if t == nil {
			t = &task{name: n.Name, parallelism: p}
			tasks = append(tasks, t)
			channels := 0
			for port, in := range n.Inputs {
				e := &edge{from: in.From, to: n, fromTask: of[in.From], toTask: t, input: in, port: port, firstInput: channels}
				switch {
				case in.Hash:
					e.mode = byGroup
				case e.fromTask.parallelism != p:
					e.mode = spread
				}
				channels += e.channels()
				t.inputs = append(t.inputs, e)
				e.fromTask.outputs = append(e.fromTask.outputs, e)
			}
		}
		t.nodes = append(t.nodes, n)
		of[n] = t
	}
	return tasks
}

func joins(n *Node, parallelism int, of map[*Node]*task) *task {
	var t *task
	for _, in := range n.Inputs {
		from := of[in.From]
		if t != nil && from != t || from.parallelism != parallelism || in.Hash && parallelism > 1 {
			return nil
		}
		t = from
	}
	return t
}
