package hook

import "os"

// Unread reports whether the output goes to /dev/null. Go opens that, for reading and writing, in place of a standard
// output that was closed at the start.
func Unread(out *os.File) bool {
	is, err := out.Stat()
	null, nullErr := os.Stat(os.DevNull)
	return err != nil || nullErr == nil && os.SameFile(is, null)
}
