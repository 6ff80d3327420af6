// Package election lets one of several servers lead. The others follow its store, so that little is left to read when
// one of them takes its place.
package election
