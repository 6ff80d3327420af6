// Package liartest is a scheduler that lies, for daemons that are processes. The model is in the test, which answers on
// a socket. The adapter is a plugin as a third party writes it, and asks there.
package liartest
