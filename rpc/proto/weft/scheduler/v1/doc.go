// Package schedulerv1 is the wire service of a scheduler adapter's other half, on the server or on an agent of a scheduler's host.
package schedulerv1
