// Package history runs whole systems through random histories, in one goroutine and without a clock: the server's machine and its store, three nodes'
// machines with their records and simulated NICs, and a scheduler that lies.
//
// Any step may crash any part; any message may be late, doubled or lost; jobs requeue, nodes reboot and vanish, ids recur, the store is deleted, rolled
// back or imported. After every step the rules of the design are held against the truth, which only this package knows: what stands on the NICs, what
// the store has taken, what the scheduler has answered. At the end everything is healed, and every VNI must come back.
//
// There is nothing to import here; see TestHistories. A failure names its seed, and `go test ./dev/history -run TestHistories -seed N` shows it again.
package history
