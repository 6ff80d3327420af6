// Package storetest tests stores and those who use one: a suite that every engine.Store must pass, records for it, and
// stores that fail on purpose or live as long as their value.
package storetest
