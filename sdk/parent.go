package sdk

import (
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// keepStdout leaves os.Stdout, where go-plugin writes the handshake, to a descriptor of its own, and makes descriptor 1 the standard error: what a C library
// prints must neither break the handshake nor fill a pipe that nobody reads.
func keepStdout() error {
	fd, err := unix.FcntlInt(1, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return err
	}
	if err := unix.Dup3(2, 1, 0); err != nil {
		return err
	}
	os.Stdout = os.NewFile(uintptr(fd), "handshake")
	return nil
}

// leaveSignals ignores the signals that ask a process to end: a terminal and systemd send them to the plugin as to its
// daemon, which ends it in order. It also ignores SIGPIPE, which Go raises for a log line that nobody reads.
func leaveSignals() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	c := make(chan os.Signal, 4)
	signal.Notify(c, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		for s := range c {
			slog.Info("signal is left to the daemon, which ends its plugins itself", "why", s.String())
		}
	}()
}

// watchParent ends this process when the daemon is gone: the kernel's PR_SET_PDEATHSIG is lost when a program is set-uid or was started by another launcher.
func watchParent() {
	parent := os.Getppid()
	if info, err := os.Stdin.Stat(); err == nil && info.Mode()&os.ModeNamedPipe != 0 {
		_, _ = io.Copy(io.Discard, os.Stdin)
	} else {
		for os.Getppid() == parent {
			time.Sleep(time.Second)
		}
	}
	os.Exit(exitOrphan) //nolint:forbidigo // nobody is left to speak to
}
