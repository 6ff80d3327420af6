// Package mutationtest shows that tests can fail: it builds programs that are wrong in one place.
package mutationtest
