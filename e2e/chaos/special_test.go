package chaos

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// Variables of a process of specialBuild. The first names the file from which it takes the error of its wall clock.
// While there is a file of the second name, no file reaches a disk.
const (
	clockEnv = "WEFT_CLOCK"
	syncEnv  = "WEFT_SYNC_FAILS"
)

// soon is the time after which a server of a special build forgets the second host of a node. Sites wait for minutes.
const soon = 5 * time.Second

// specialBuild writes a file for `go build -overlay`. It gives a program a wall clock that can be wrong, by a change of
// package time of the Go tree; the running clock stays right. Its fsync and fdatasync can fail, by a change of package
// syscall. And it shortens the time to soon.
func specialBuild(dir string) (listing string, err error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", err
	}
	replaced := map[string]string{}
	std := func(name ...string) string {
		return filepath.Join(append([]string{strings.TrimSpace(string(root)), "src"}, name...)...)
	}
	for to, from := range map[string]string{
		std("time", "shift.go"): "testdata/clock/shift.go", std("syscall", "failsync.go"): "testdata/sync/failsync.go",
	} {
		if replaced[to], err = filepath.Abs(from); err != nil {
			return "", err
		}
	}
	calls := std("syscall", "zsyscall_linux_"+runtime.GOARCH+".go")
	const fails = "\tif err = failSync(); err != nil {\n\t\treturn err\n\t}\n"
	for _, c := range []struct{ file, old, now string }{
		{std("time", "time.go"), "\tmono -= startNano\n\tsec += ", "\tmono -= startNano\n\tsec += wallShift() + "},
		{calls, fsync, fsync + fails}, {calls, fdatasync, fdatasync + fails},
		{"../../core/engine/config.go", "Away: 3 * time.Minute,", fmt.Sprintf("Away: %d,", soon)},
	} {
		file, err := filepath.Abs(c.file)
		if err != nil {
			return "", err
		}
		from := cmp.Or(replaced[file], file) // an earlier change of it
		text, err := os.ReadFile(from)
		if err != nil {
			return "", err
		}
		if n := strings.Count(string(text), c.old); n != 1 {
			return "", fmt.Errorf("%s: it has %d times %q", file, n, c.old)
		}
		replaced[file] = filepath.Join(dir, filepath.Base(file))
		if err := os.WriteFile(replaced[file], []byte(strings.Replace(string(text), c.old, c.now, 1)), 0o600); err != nil {
			return "", err
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		return "", err
	}
	listing = filepath.Join(dir, "special.json")
	return listing, os.WriteFile(listing, overlay, 0o600)
}

const (
	fsync     = "func Fsync(fd int) (err error) {\n"
	fdatasync = "func Fdatasync(fd int) (err error) {\n"
)

// failSync has each fsync on a host fail, and mendSync ends that.
func (s *site) failSync(name string) {
	if err := os.WriteFile(s.path(name, "sync-fails"), nil, 0o644); err != nil {
		s.t.Error(err)
	}
}

func (s *site) mendSync(name string) {
	if err := os.Remove(s.path(name, "sync-fails")); err != nil {
		s.t.Error(err)
	}
}

// hour is an error of a clock, in seconds.
const hour = 3600

func (s *site) ahead(name string)    { s.shift(name, hour) }
func (s *site) behind(name string)   { s.shift(name, -hour) }
func (s *site) setClock(name string) { s.shift(name, 0) }

// shift sets a host's wall clock wrong by some seconds.
func (s *site) shift(name string, seconds int64) {
	f, err := os.OpenFile(s.path(name, "clock"), os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil {
		_, err = f.Write(binary.NativeEndian.AppendUint64(nil, uint64(seconds)))
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		s.t.Error(err)
	}
}

// anySpecial are the hosts whose clock can be wrong, and whose disk can fail.
func anySpecial(s *site) []string {
	if s.special {
		return anyDisk(s)
	}
	return nil
}

// anyCopied are the nodes of which there can be a copy.
func anyCopied(s *site) []string {
	if s.special {
		return s.nodes
	}
	return nil
}

// copyOf is the name of a node's copy: another host with the same certificate.
func copyOf(node string) string { return "c" + node[1:] }

// copied is the reverse; other names stay.
func copied(name string) string {
	if node, is := strings.CutPrefix(name, "c"); is {
		return "n" + node
	}
	return name
}

func (s *site) startCopy(node string) { s.start(copyOf(node)) }

// stopCopy ends a copy with all that it has.
func (s *site) stopCopy(node string) {
	s.kill(copyOf(node))
	s.hosts[copyOf(node)].crash()
}
