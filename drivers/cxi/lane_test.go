package cxi

import (
	"testing"
	"testing/synctest"
	"time"
	"unsafe"
)

// TestLinger: visits that follow each other find the NIC open. Afterwards it is closed, and modules can be unloaded.
func TestLinger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var info devinfo
		var opened, closed int
		libraries := make([]*library, 2)
		for i := range libraries {
			libraries[i] = &library{
				openDevice:  func(_ uint32, dev *unsafe.Pointer) int32 { opened++; *dev = unsafe.Pointer(&info); return 0 },
				closeDevice: func(unsafe.Pointer) { closed++ },
			}
		}
		l := (&lanes{}).lane("cxi0")
		for i, c := range []struct {
			after          time.Duration
			library        int
			fresh          bool
			opened, closed int
		}{
			{0, 0, false, 1, 0},
			{linger / 2, 0, false, 1, 0},
			{linger * 3 / 4, 0, false, 1, 0}, // the time began again with the second
			{linger / 2, 0, true, 2, 1},
			{linger / 2, 1, false, 3, 2},
			{linger + time.Millisecond, 1, false, 4, 3},
			{linger + time.Millisecond, 1, true, 5, 4},
		} {
			time.Sleep(c.after)
			l.turn <- struct{}{}
			if _, err := l.enter(t.Context(), nil, libraries[c.library], card{name: "cxi0"}, c.fresh); err != ok {
				t.Fatal(err)
			}
			if opened != c.opened || closed != c.closed {
				t.Errorf("visit %d: opened %d times and closed %d, want %d and %d", i, opened, closed, c.opened, c.closed)
			}
			l.leave()
		}
		l.turn <- struct{}{} // a visit that takes long keeps it
		time.Sleep(2 * linger)
		if closed != 4 {
			t.Error("a NIC was closed during a visit")
		}
		l.leave()
		time.Sleep(linger + time.Millisecond)
		synctest.Wait()
		if opened != closed {
			t.Errorf("opened %d times and closed %d", opened, closed)
		}
	})
}
