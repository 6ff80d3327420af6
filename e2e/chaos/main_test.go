package chaos

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/weft-hpc/weft/dev/effort"
	"github.com/weft-hpc/weft/dev/liartest"
)

var seed = flag.Uint64("seed", 0, "the seed of the first schedule (default: a random one)")

// Variables of the process that runs the tests.
const (
	binEnv  = "WEFT_CHAOS_BIN"     // the folder of the binaries under trial
	lackEnv = "WEFT_CHAOS_LACKS"   // why there is no chaos here
	initEnv = "WEFT_CHAOS_NEW_PID" // it is the first process of its namespace
)

// pluginArg makes this binary the adapter of the tests' scheduler.
const pluginArg = "plugin-of-the-liar"

// TestMain runs the tests in new namespaces, where nothing outlives them: no process, interface or mount.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) == 2 && os.Args[1] == pluginArg:
		liartest.Plugin()
	case os.Getenv(initEnv) != "":
		os.Exit(first())
	case os.Getenv(binEnv) != "" || os.Getenv(lackEnv) != "":
		effort.Together(3)
		os.Exit(m.Run())
	default:
		os.Exit(outside(m))
	}
}

// outside builds the binaries and runs this binary again inside.
func outside(m *testing.M) int {
	effort.Together(3)
	if !effort.Full() {
		return m.Run() // nothing runs
	}
	dir, err := os.MkdirTemp("", "weft-chaos")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	var flags []string
	if effort.Night() { // it builds all of Go again
		special, err := specialBuild(dir)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		flags = []string{"-overlay", special}
	}
	if out, err := build(dir, flags...).CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%v\n%s", err, out)
		return 1
	}
	if effort.Night() {
		if out, err := buildEtcd(dir).CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "NOT RUN: the current line of etcd, since it does not build: %v\n%s", err, out)
		}
	}
	inside := exec.Command("/proc/self/exe", os.Args[1:]...)
	inside.Env = append(os.Environ(), binEnv+"="+dir, initEnv+"=1")
	inside.Stdin, inside.Stdout, inside.Stderr = os.Stdin, os.Stdout, os.Stderr
	inside.SysProcAttr = &syscall.SysProcAttr{
		Pdeathsig:  syscall.SIGKILL,
		Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID,
	}
	lack := lacks()
	if lack == "" {
		if err := inside.Start(); err != nil {
			lack = "namespaces: " + err.Error()
		}
	}
	if lack != "" {
		_ = os.Setenv(lackEnv, lack)
		return m.Run()
	}
	return code(inside.Wait())
}

func code(err error) int {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() >= 0 {
		return exit.ExitCode()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// lacks tells what this machine has not.
func lacks() string {
	if os.Geteuid() != 0 {
		return "root"
	}
	if _, err := exec.LookPath("ip"); err != nil {
		return "iproute2"
	}
	return ""
}

// build is the command that builds the binaries under trial.
func build(dir string, flags ...string) *exec.Cmd {
	args := append([]string{"build", "-trimpath", "-buildvcs=false", "-o", dir + string(filepath.Separator)}, flags...)
	c := exec.Command("go", append(args, "../../cmd/weft")...)
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	return c
}

// currentEtcd is the name of the current line's etcd in the folder of the binaries.
const currentEtcd = "etcd"

// buildEtcd is the command that builds it. It has its own module, so that Weft's names none of its modules.
func buildEtcd(dir string) *exec.Cmd {
	c := exec.Command("go", "build", "-trimpath", "-o", filepath.Join(dir, currentEtcd), "go.etcd.io/etcd/server/v3")
	c.Dir, c.Env = "etcd", append(os.Environ(), "CGO_ENABLED=0")
	return c
}

// first is the first process of the namespace: it runs the tests and waits for the children of the dead.
func first() int {
	flags := uintptr(syscall.MS_NOSUID | syscall.MS_NODEV | syscall.MS_NOEXEC)
	for _, err := range []error{
		syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""),
		syscall.Mount("proc", "/proc", "proc", flags, ""),
		syscall.Mount("tmpfs", "/run", "tmpfs", flags, "mode=0755"),
		os.Unsetenv(initEnv),
	} {
		if err != nil {
			fmt.Fprintln(os.Stderr, "chaos:", err)
			return 1
		}
	}
	attr := &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}}
	pid, err := syscall.ForkExec("/proc/self/exe", os.Args, attr)
	if err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		return 1
	}
	for {
		var status syscall.WaitStatus
		switch got, err := syscall.Wait4(-1, &status, 0, nil); {
		case err != nil && !errors.Is(err, syscall.EINTR):
			fmt.Fprintln(os.Stderr, "chaos:", err)
			return 1
		case got == pid && status.Signaled():
			return 128 + int(status.Signal())
		case got == pid:
			return status.ExitStatus()
		}
	}
}

// need skips a test where it cannot run.
func need(t *testing.T) {
	t.Helper()
	effort.NeedFull(t)
	if lack := os.Getenv(lackEnv); lack != "" {
		t.Skipf("NOT RUN: chaos on real processes, since this machine lacks %s; `make test-deps` installs iproute2", lack)
	}
}
