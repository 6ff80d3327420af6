// Package corev1 holds the messages that several of Weft's wire services share.
package corev1
