// Package daemon wires what `weft server` and `weft agent` are made of: configuration, plugins, stores, sockets and certificates around server.Server and
// agent.Agent. Nothing is decided here.
package daemon
