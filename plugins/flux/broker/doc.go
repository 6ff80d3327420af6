// Package broker speaks to a Flux broker through its local connector: the unix socket that every broker has, without libflux.
//
// A client dials, is told in one byte whether it may, and exchanges framed messages (RFC 3): requests with a tag, responses that bear it, one or, of a
// streaming request, several until one that is an error. What is said of the wire is what flux-core 0.88.0 does, which differs from RFC 3 in places: the
// magic is in the host's byte order, the length does not count the header, a topic ends in no NUL, and an event may carry a route.
package broker
