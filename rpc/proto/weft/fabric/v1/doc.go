// Package fabricv1 is the wire service of a fabric backend.
package fabricv1
