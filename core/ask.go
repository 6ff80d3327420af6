package core

import "time"

// NodeAsk asks a node for a page of one of its lists. Orders carry it, and a Report carries its NodeReply. A list
// changes nothing, so the server may ask again.
type NodeAsk struct {
	ID     uint64        // unique in the session
	Verb   string        // of the agent's socket; a node answers only those that list
	Within time.Duration // from sending to the reply; above 0
	Room   int           // bytes that the reply's Body may have; at most MaxNodeReply
	Cursor string        // where the page before ended
}

// NodeReply answers a NodeAsk of Orders.
type NodeReply struct {
	ID   uint64
	Body []byte // rows in JSON, of which the node is the only source
	Next string // a further page begins here
	Err  *Error
}

// MaxNodeReply bounds NodeReply.Body, in bytes. MaxNodeAsks bounds the asks that a node has under way; it refuses more.
const (
	MaxNodeReply = 256 << 10
	MaxNodeAsks  = 8
)
