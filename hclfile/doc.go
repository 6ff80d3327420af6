// Package hclfile reads HCL files of unknown goodwill within bounds, and says what is wrong with them.
//
// Everything that can be wrong is a Finding, which is plain data: its text for a person and its JSON are both made from it, so they cannot differ. A
// reader goes on after a mistake, so that one run shows all of them.
package hclfile
