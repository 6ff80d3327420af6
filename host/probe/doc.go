// Package probe starts a plugin's program bare, for package conformance to verify: as a daemon starts it, but with nothing of host's between the plugin and
// who calls it. What host would smooth over (a restart, a result too few, a call that comes too late) is seen.
package probe
