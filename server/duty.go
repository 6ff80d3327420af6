package server

import "github.com/weft-hpc/weft/core"

// duty is a node as one scheduler knows it.
type duty struct{ scheduler, node string }

// everywhere tells every scheduler something of a node. What it was told of the node before comes first, with all its tries: the newest word is to be the last.
func (s *Server) everywhere(c core.SchedulerCall) {
	for name := range s.schedulers {
		of := duty{name, c.Node}
		over := make(chan struct{})
		c.Scheduler = name
		if s.tellScheduler(c, s.duties[of], func(bool) { close(over) }) != nil {
			s.duties[of] = over
		}
	}
}
