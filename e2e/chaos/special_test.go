package chaos

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// clockEnv names the file from which a process takes the error of its wall clock, where it is built with such a clock.
const clockEnv = "WEFT_CLOCK"

// soon is the time after which a server of a special build forgets the second host of a node. Sites wait for minutes.
const soon = 5 * time.Second

// specialBuild writes a file for `go build -overlay`. It gives a program a wall clock that can be wrong, by a change of
// package time of the Go tree; the running clock stays right. And it shortens the time to soon.
func specialBuild(dir string) (listing string, err error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", err
	}
	std := filepath.Join(strings.TrimSpace(string(root)), "src", "time")
	shift, err := filepath.Abs("testdata/clock/shift.go")
	if err != nil {
		return "", err
	}
	replaced := map[string]string{filepath.Join(std, "shift.go"): shift}
	for _, c := range []struct{ file, old, now string }{
		{filepath.Join(std, "time.go"), "\tmono -= startNano\n\tsec += ", "\tmono -= startNano\n\tsec += wallShift() + "},
		{"../../core/engine/config.go", "Away: 3 * time.Minute,", fmt.Sprintf("Away: %d,", soon)},
	} {
		file, err := filepath.Abs(c.file)
		if err != nil {
			return "", err
		}
		text, err := os.ReadFile(file)
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

// anyClock are the hosts whose clock can be wrong.
func anyClock(s *site) []string {
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
