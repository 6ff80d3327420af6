// Package pluginv1 is the wire service that every plugin serves beside that of its kind.
package pluginv1
