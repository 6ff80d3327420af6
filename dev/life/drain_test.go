package life

import (
	"slices"
	"strings"

	"github.com/weft-hpc/weft/core/engine"
)

// drainer is a scheduler that lists its drained nodes. A person drains and resumes them by its own commands.
type drainer interface {
	drain(node, why string)
	undrain(node string)
}

// resumed is a node that Weft drains and takes back: each scheduler does both.
func (c *trial) resumed(node string) {
	c.Helper()
	if _, is := c.site.(drainer); !is {
		return
	}
	c.says(node, "a fan")
	c.every(node, "weft: a fan")
	c.says(node, "")
	c.every(node, "")
	c.works()
}

// undrained is a node that Weft drains. A person brings it back with the scheduler's own command, and it is in service
// in Weft and in every scheduler.
func (c *trial) undrained(node string) {
	c.Helper()
	own, is := c.site.(drainer)
	if !is {
		return
	}
	c.says(node, "a fan")
	c.until("a drain in "+c.site.name(), func() bool {
		// In a list that is newer than Weft's word. In an older one the resume looks like a drain that was missed.
		return c.site.drained(node) != "" && slices.Contains(c.status(node).Agreed, c.site.name())
	})
	own.undrain(node)
	c.until("a resume in Weft", func() bool { return c.status(node).Drained == "" })
	c.every(node, "")
	c.works()
}

// drainedByAPerson is a node that a person drains. Weft leaves that drain alone when it drains and resumes the node.
func (c *trial) drainedByAPerson(node string) {
	c.Helper()
	own, is := c.site.(drainer)
	if !is {
		return
	}
	const why = "memory is tested"
	own.drain(node, why)
	for _, word := range []string{"a fan", "", "a fan", ""} { // twice, since calls of one word end before the next begin
		c.says(node, word)
		want := ""
		if word != "" {
			want = "weft: " + word
		}
		c.every(node, want, c.site)
		if got := c.site.drained(node); !strings.Contains(got, why) {
			c.Errorf("Weft says %q of %s, which is drained in %s: %q, want %q", word, node, c.site.name(), got, why)
		}
	}
	own.undrain(node)
	c.works()
}

// says is `weft drain`, or `weft resume` where why is empty.
func (c *trial) says(node, why string) {
	c.Helper()
	if _, err := c.server.Load().Do(c.Context(), func(call uint64) engine.Input {
		return engine.SetDrain{Call: call, Node: node, Reason: why, By: "root"}
	}); err != nil {
		c.Fatal(err)
	}
}

// every waits until each scheduler that lists drained nodes, but for some, has the node drained for why, or in service
// where that is empty.
func (c *trial) every(node, why string, but ...site) {
	c.Helper()
	for _, s := range c.sites {
		if _, lists := s.(drainer); lists && !slices.Contains(but, s) {
			c.until(s.name()+" has "+node+" as Weft says: "+why, func() bool {
				is := s.drained(node)
				return strings.Contains(is, why) && (why != "" || is == "")
			})
		}
	}
}

func (c *trial) status(node string) (is engine.NodeStatus) {
	c.look(func(m *engine.Machine) {
		for n := range m.Nodes("") {
			if n.Name == node {
				is = n
			}
		}
	})
	return is
}

// works is that a job runs on all nodes.
func (c *trial) works() {
	c.Helper()
	r := c.begin(c.site)
	c.holds(r)
	c.site.finish(r.job)
}
