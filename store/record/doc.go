// Package record is what every store agrees on: how engine's records look as bytes, which may be written, and the fence that each commit must pass.
//
// A record is a version byte, a table byte, the fields of version 1 in their order, as varints and counted strings, and then its facts: the optional
// fields that came later, each behind its number and its size. One function a type says its form for both directions, so they cannot drift apart.
//
// A new field is a fact: an older release reads the record without it, and a store keeps it when that release rewrites the record. So a fact must
// be one that an older release may ignore, and one that stays true when the fields beside it change. All other changes raise Version. A release reads
// its own version and the one before.
package record
