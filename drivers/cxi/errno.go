package cxi

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// errno is a Linux error number as libcxi returns it, without its sign; 0 is success.
type errno uint16

// The numbers that the service calls return.
const (
	ok          errno = 0
	eperm             = errno(unix.EPERM)
	enoent            = errno(unix.ENOENT)
	eio               = errno(unix.EIO)
	enxio             = errno(unix.ENXIO)
	eacces            = errno(unix.EACCES)
	ebusy             = errno(unix.EBUSY)
	eexist            = errno(unix.EEXIST)
	enodev            = errno(unix.ENODEV)
	einval            = errno(unix.EINVAL)
	enospc            = errno(unix.ENOSPC)
	ebadr             = errno(unix.EBADR)
	eopnotsupp        = errno(unix.EOPNOTSUPP)
	ekeyrevoked       = errno(unix.EKEYREVOKED)
	ecanceled         = errno(unix.ECANCELED) // of ours: the call is over, see nic.over
	evirtual    errno = 4096                  // of ours: it is a virtual function
)

// Error is the symbol of the number, as errno(3) lists it.
func (e errno) Error() string {
	if n := unix.ErrnoName(unix.Errno(e)); n != "" {
		return n
	}
	return "errno " + strconv.Itoa(int(e))
}

// code is what a function of libcxi returned: a value, or a negative error number.
func code(rc int32) (uint32, errno) {
	if rc < 0 {
		return 0, errno(-rc)
	}
	return uint32(rc), ok
}
