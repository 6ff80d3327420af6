// Package kernel is the CXI driver's rules about services as a pure model: one NIC is a value, its calls return what the driver of a named SHS release
// would. It has no file, clock, lock or goroutine, and making or copying a NIC copies no service, so that hundreds of thousands of histories can be run
// in a test. It answers in the kernel's own terms (raw descriptors, errno); package sim translates.
//
// The rules were read in the public sources of the CXI driver and libcxi. Package kerneltest lists them for each release,
// with their sources. Where the driver computes a figure that no source gives as a number, the comment says so.
package kernel
