package kernel

import "strconv"

// Errno is a Linux error number as the driver returns it; 0 is success.
type Errno uint16

// The error numbers that the service calls of the driver return.
const (
	OK          Errno = 0
	EPERM       Errno = 1
	ENOENT      Errno = 2
	EIO         Errno = 5
	EBUSY       Errno = 16
	EEXIST      Errno = 17
	EINVAL      Errno = 22
	ENOSPC      Errno = 28
	EBADR       Errno = 53
	ENODATA     Errno = 61
	EKEYREVOKED Errno = 128
	Oops        Errno = 4095 // no answer: the kernel dereferences a null pointer
)

var errnoNames = map[Errno]string{
	OK: "ok", EPERM: "EPERM", ENOENT: "ENOENT", EIO: "EIO", EBUSY: "EBUSY", EEXIST: "EEXIST", EINVAL: "EINVAL",
	ENOSPC: "ENOSPC", EBADR: "EBADR", ENODATA: "ENODATA", EKEYREVOKED: "EKEYREVOKED", Oops: "oops",
}

// Error is the symbol of the number, as errno(3) lists it.
func (e Errno) Error() string {
	if n, ok := errnoNames[e]; ok {
		return n
	}
	return "errno " + strconv.Itoa(int(e))
}
