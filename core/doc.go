// Package core holds Weft's words, its errors, the contracts of plugins, and Authority, the contract of the server for
// agents.
//
// It has no effect: no goroutine, no clock, no file, no socket. The packages below it (hostlist, allocator, limits,
// engine, node) decide. The packages server and agent act. This package imports only the standard library; a test
// holds it to that.
package core
