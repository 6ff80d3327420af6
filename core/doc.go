// Package core holds Weft's words, its errors, the contracts that plugins implement, and Authority, the server as an agent sees it.
//
// It does nothing: no goroutine, no clock, no file, no socket. The packages below it (hostlist, allocator, limits, engine, node) decide; the packages
// server and agent do. Only the standard library is imported here, and a test says so.
package core
