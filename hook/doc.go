// Package hook is the way in to Weft's daemons: one request and one reply, each a length-framed JSON text, over a unix socket.
//
// A frame is its length in four bytes, big-endian, and then that many bytes of JSON. A connection carries one call, and who calls keeps it open both ways
// until the answer is there: hanging up ends the call. Who calls is what the kernel says (SO_PEERCRED), never what a frame says.
//
// This package is for those who ask, with Call and Pages: weft-hook, which a scheduler's hooks exec, and the operator's verbs. It holds what a frame is, too.
// Those who answer are the agent, with a socket for root and one for users, and the server: theirs is hook/listener. hook/rundir is what the agent leaves for
// weft-hook to read. Only core and the standard library are imported, and here not even net, since weft-hook starts once for each hook of each job.
package hook
