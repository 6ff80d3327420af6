package host

import (
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// A child that holds its plugin's standard error keeps go-plugin from noticing the plugin's death. One that goes on at
// a NIC may change it after the driver's call has been answered.
func TestChildrenOfAPluginEndWithIt(t *testing.T) {
	for _, what := range []string{"child", "runaway"} {
		t.Run(what, func(t *testing.T) {
			s := newStage(t, quick)
			p := s.puppet()
			others := s.puppet(func(spec *Spec) { spec.Name = "other" })
			child, other := begun(t, p, what), begun(t, others, what)
			if _, err := do(t.Context(), p, "exit"); err == nil {
				t.Fatal("it did not exit")
			}
			s.pid(p)
			if !over(t, child, 20_000) {
				t.Error("the child lives on")
			}
			if over(t, other, 0) {
				t.Error("the child of another plugin was ended")
			}
		})
	}
}

// begun is a handle on a child that the puppet starts.
func begun(t *testing.T, p *Plugin, what string) (pidfd int) {
	t.Helper()
	text, err := do(t.Context(), p, what)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(text)
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	return fd
}

// over reports whether a process ends within so many milliseconds.
func over(t *testing.T, pidfd, limit int) bool {
	t.Helper()
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, limit)
	if err != nil {
		t.Fatal(err)
	}
	return n == 1
}
