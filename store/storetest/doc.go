// Package storetest is for tests of stores and of those who use one. It compares a store with store/memory, and fills
// one with records. It has a store that fails on purpose, and an agent's ledger in memory.
package storetest
