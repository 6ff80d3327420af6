// Package door is where Weft's daemons answer the calls that package hook makes: Listen makes a socket, and a Front serves it within its Bounds, whatever
// its callers do. The agent has one for root and one for users, the server one.
package door
