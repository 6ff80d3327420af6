// Package conformance is what every engine.Store must do, as a suite that each store's tests run, and records to do it with.
package conformance
