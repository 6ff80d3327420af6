// Package storetest has stores for tests: a server's store that fails on purpose, and an agent's ledger in memory.
package storetest
