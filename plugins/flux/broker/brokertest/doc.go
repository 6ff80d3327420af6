// Package brokertest is a broker for tests: a unix socket that answers as the recordings beside package broker do, an instance owner and guests known by
// SO_PEERCRED, and as much of a job manager as an adapter meets. It runs no job: a test submits, posts events and shuts down.
package brokertest
