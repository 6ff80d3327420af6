// Package hooksv1 is the wire service of a scheduler adapter's half beside the hook.
package hooksv1
