// Package cxi is the NIC driver of Slingshot nodes: it makes, reads and removes CXI services through libcxi.so.1, which it loads at run time.
//
// The layouts of libcxi's structures, its error numbers and what differs between releases of SHS were read in HPE's open sources (shs-libcxi and
// shs-cxi-driver, releases 12.0 to 14.0.1). Nothing here was ever run on a NIC: docs/cxi.md says what was tried instead.
//
// No release tells its version: see questions for what tells them apart.
package cxi
