package listener

import (
	"time"

	"github.com/weft-hpc/weft/hook"
)

// DefaultReply is how many bytes a reply has at most where Bounds say nothing.
const DefaultReply = 1 << 20

// Bounds of a listener: what one caller, one user and all of them together can take of it. A zero field means the default of Root.
type Bounds struct {
	Connections int           // at a time; an eighth of them is kept for root
	PerUser     int           // at a time of one uid; 0: no bound; root has none
	Request     int           // bytes of a request
	Reply       int           // bytes of a reply
	Read        time.Duration // in which a whole request must have come
	Answer      time.Duration // in which a Handler must have answered; a caller's own limit may be shorter
	Write       time.Duration // in which the reply must have gone
	Stop        time.Duration // how long calls in flight may go on after the listener was told to stop
}

// Root are the bounds of root's socket: hooks of many jobs at once, with environments of a MiB.
func Root() Bounds {
	return Bounds{
		Connections: 1024, Request: hook.MaxRequest, Reply: DefaultReply,
		Read: 10 * time.Second, Answer: 3 * time.Minute, Write: 10 * time.Second, Stop: 5 * time.Second,
	}
}

// Users are the bounds of a socket that every user may connect to.
func Users() Bounds {
	return Bounds{
		Connections: 256, PerUser: 8, Request: 64 << 10, Reply: DefaultReply,
		Read: 2 * time.Second, Answer: 30 * time.Second, Write: 2 * time.Second, Stop: 5 * time.Second,
	}
}

// filled has the defaults where nothing was said.
func (b Bounds) filled() Bounds {
	d := Root()
	def(&b.Connections, d.Connections)
	def(&b.Request, d.Request)
	def(&b.Reply, d.Reply)
	def(&b.Read, d.Read)
	def(&b.Answer, d.Answer)
	def(&b.Write, d.Write)
	def(&b.Stop, d.Stop)
	return b
}

func def[T ~int | ~int64](v *T, d T) {
	if *v <= 0 {
		*v = d
	}
}
