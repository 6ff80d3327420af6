package time

import (
	"syscall"
	"unsafe"
)

// wallShift is how many seconds the wall clock of this process is wrong: the first 8 bytes of the file that WEFT_CLOCK
// names, at each moment.
func wallShift() int64 {
	if shift == nil {
		return 0
	}
	return *shift
}

var shift = readShift()

func readShift() *int64 {
	path, ok := syscall.Getenv("WEFT_CLOCK")
	if !ok {
		return nil
	}
	f, err := syscall.Open(path, syscall.O_RDONLY, 0)
	if err != nil {
		return nil
	}
	defer syscall.Close(f)
	m, err := syscall.Mmap(f, 0, 8, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil
	}
	return (*int64)(unsafe.Pointer(&m[0]))
}
