// Package nicv1 is the wire service of a NIC driver.
package nicv1
