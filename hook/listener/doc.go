// Package listener answers the calls that package hook makes: Listen makes a socket, and a Server serves it within its Bounds, whatever
// its callers do. The agent has one for root and one for users, the server one.
package listener
