// Package record is what every store agrees on: how engine's records look as bytes, which may be written, and the fence that each commit must pass.
package record
