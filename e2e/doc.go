// Package e2e tries whole systems: a real scheduler, Weft's daemons, plugins and hooks as processes, simulated NICs, and users who are not root. It has
// tests only. They need root and the scheduler; where either is missing they skip, and the end of `make test` says what was not tried.
package e2e
