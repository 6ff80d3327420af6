// Package install puts Weft's scriptlets and its shell plugin into a Flux site and takes them out again. It runs no command and asks no daemon: it reads what
// is there, plans files, and writes each whole or not at all, so that a run that is killed is completed by the next.
package install
