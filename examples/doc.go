// Package examples holds plugins as others write them: nicdriver is a Go module of its own, pythondriver a Python program. Its tests build and run them.
package examples
