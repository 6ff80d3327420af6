// Package authorityv1 is the wire service of the server, for the agents.
package authorityv1
