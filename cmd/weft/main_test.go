package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"github.com/weft-hpc/weft/dev/effort"
	"github.com/weft-hpc/weft/dev/liartest"
)

var update = flag.Bool("update", false, "write the golden parts of the scripts anew")

// suite is the package's tests with a look for goroutines left behind.
type suite struct{ *testing.M }

func (s suite) Run() int {
	effort.Together(6)
	// Scripts run weft as other users, who cannot enter the folder that testscript makes for it.
	if path, err := exec.LookPath("weft"); err == nil {
		_ = os.Chmod(filepath.Dir(filepath.Dir(path)), 0o711)
	}
	code := s.M.Run()
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// TestMain makes the test binary weft itself, where it is called so.
func TestMain(m *testing.M) {
	testscript.Main(suite{m}, map[string]func(){"weft": main, "as": as, "caller": caller, "weft-liar": liartest.Plugin, "weft-leaky": leakyPlugin, "weft-hostile": hostilePlugin, "weft-holder": holderProgram})
}

// as becomes another user, whom no group has, and executes a command: as UID COMMAND [ARG…].
func as() {
	uid, err := strconv.Atoi(os.Args[1])
	if err == nil {
		err = syscall.Setgroups(nil)
	}
	if err == nil {
		err = syscall.Setgid(uid)
	}
	if err == nil {
		err = syscall.Setuid(uid)
	}
	var path string
	if err == nil {
		path, err = exec.LookPath(os.Args[2])
	}
	if err == nil {
		err = syscall.Exec(path, os.Args[2:], os.Environ())
	}
	fmt.Fprintln(os.Stderr, "as:", err)
	os.Exit(99)
}
