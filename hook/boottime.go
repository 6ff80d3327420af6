package hook

import (
	"syscall"
	"unsafe"
)

// clockBoottime is CLOCK_BOOTTIME of <linux/time.h>: ns since the boot, suspended time included, alike for every process of a node.
const clockBoottime = 7

// Boottime is the node's CLOCK_BOOTTIME in ns. weft-hook stamps a call with it, so that a clean-up covers only what was prepared before it.
func Boottime() int64 {
	var ts syscall.Timespec
	if _, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockBoottime, uintptr(unsafe.Pointer(&ts)), 0); errno != 0 {
		return 0
	}
	return ts.Nano()
}
