// Package chaos does harm to whole systems whose parts are real processes, and checks every answer that a client got.
// It has tests only.
//
// Each host is a network namespace on a bridge of the test. A server, agents with simulated NICs, and a scheduler's
// adapter run there. Clients start and end jobs meanwhile, with the hooks that a scheduler runs. Faults come by a
// schedule that a seed gives: `go test ./e2e/chaos -run TestChaos -seed N` runs the same one again. Each failure shows
// its schedule. The moments are the machine's, so that a seed can need several runs.
//
//	kill, restart        SIGKILL, and a new process later, as systemd starts one
//	pause                SIGSTOP and SIGCONT
//	cut, deaf, mute      the host's link is down; packets to it, or from it, are lost one way
//	delay, drip, stall   a TCP proxy delays bytes, sends them one by one, or keeps them, also one way
//	snap                 the proxy ends each connection in the middle of a frame
//	full                 a disk is full
//	lost                 a power cut takes the last commits of the store: an older copy comes back
//	reboot               a node loses its processes, its records and its services
//	clock                the wall clock is an hour wrong (with WEFT_NIGHT, since it takes another build of Go)
//	copy                 another host comes with a node's certificate (with WEFT_NIGHT)
//	sync fails           fsync gives an error (with WEFT_NIGHT, too)
//	no space             etcd's alarm: it takes no writes
//	no quorum, restore   two of etcd's members stand still; all of them get back an older state
//	etcd cut, agents cut the leader loses etcd, or all agents; etcd deaf and etcd mute are one way
//	silence              the scheduler does not answer
//
// TCP under TLS cannot double or reorder bytes. So the clients double and reorder whole calls: hooks come twice, late
// or never.
//
// The answers are a history. Porcupine compares it with a model in which a job owns a VNI from the first answer that
// says so. The job owns it until its scheduler has ended it, no NIC has its service, and the quarantine is over. Apart
// from that, the test reads the NICs all the time: a VNI is never on services of two jobs. At the end all faults are
// over. Then each node starts a job again, and every VNI returns to the pool.
package chaos
