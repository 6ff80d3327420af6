// Package bolt keeps the server's store and the agent's ledger, one bbolt file each: one process at a time.
//
// A commit is one bbolt transaction. In a store, its pages and then its meta page are synced before it returns. The file is read and verified page by page before
// bbolt maps it, since bbolt panics, even in goroutines of its own, over a damaged file. Beside the file lie path.lock, which names the process that has
// it open, and for a moment path.new, a file in the making.
//
// Records lie in a bucket a table, those of a store under serial (big-endian) and name, so that a walk is in the order in which Load tells them. Each value ends in a
// checksum of its key and itself, and the file keeps the number of its records and the sum of their checksums: what a commit does not account for is
// damage.
package bolt
