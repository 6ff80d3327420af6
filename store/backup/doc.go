// Package backup is the records of a server's store as one stream of bytes, whichever store had them.
//
// A backup begins with a line that has the version of the form. The records follow, each behind its length, in the
// order of Load. Then come a length of 0, the number of records, and the SHA-256 of all that. Lengths and numbers are
// varints.
package backup

// Version of the form. A backup of a higher one is a newer release's.
const Version = 1

const greeting = "weft store export " // older releases wrote backups with `weft store export`
