// Package sim is the NIC driver of a node that has no NICs: it follows the CXI driver's rules (package kernel) and keeps the services in a folder, so that
// they outlive the process that made them as a kernel's would, or in memory.
//
// The folder of a node holds
//
//	lock    held (flock) for the length of every call
//	state   boot id, names and services of every NIC; replaced whole, durable before a call answers. Another boot id clears it
//	lni/    a file for each LNI, locked by the application that holds it: its death frees the LNI
//	faults  what is to go wrong; any process may write it, see Driver.SetFault
//
// Fault injection exists here and nowhere else in Weft.
package sim
