// Package record is what every store agrees on: how engine's records look as bytes, which may be written, and the fence that each commit must pass.
//
// A record is a version byte, a table byte, and the fields in their order, as varints and counted strings. A release reads its own version and the one
// before; a field that comes later is read only from the version that brought it on, so what an older release wrote has it as zero. One function a type
// says its form for both directions, so they cannot drift apart.
package record
