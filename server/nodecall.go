package server

import "github.com/weft-hpc/weft/core"

// nodeCall names the calls to one scheduler about one node.
type nodeCall struct{ scheduler, node string }

// everywhere tells every scheduler something of a node. What it was told of the node before comes first, with all its tries: the newest word is to be the last.
func (s *Server) everywhere(c core.SchedulerCall) {
	for name := range s.schedulers {
		of := nodeCall{name, c.Node}
		over := make(chan struct{})
		c.Scheduler = name
		if s.tellScheduler(c, s.nodeCalls[of], make(chan struct{}), func(bool) { close(over) }) {
			s.nodeCalls[of] = over
		}
	}
}
