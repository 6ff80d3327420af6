package chaos

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

// lan is a bridge with the hosts of one system. Its last address is the test's own.
type lan struct {
	t    testing.TB
	id   int
	lost map[string]int // faults that lose packets one way, by host and address
}

// lans counts bridges: systems run at the same time.
var lans atomic.Int32

// noHost is a hardware address that no host has.
const noHost = "02:00:00:00:00:01"

// newLAN makes a bridge.
func newLAN(t testing.TB) *lan {
	t.Helper()
	l := &lan{t: t, id: int(lans.Add(1)), lost: map[string]int{}}
	if out, err := ip("link set lo up"); err != nil {
		t.Fatal(out)
	}
	l.must(fmt.Sprintf("link add %s type bridge", l.bridge()), fmt.Sprintf("addr add %s/24 dev %s", l.own(), l.bridge()),
		fmt.Sprintf("link set %s up", l.bridge()))
	t.Cleanup(func() { l.must("link del " + l.bridge()) })
	return l
}

func (l *lan) bridge() string { return fmt.Sprintf("br%d", l.id) }

func (l *lan) own() string { return l.address(254) }

func (l *lan) address(n int) string { return fmt.Sprintf("10.%d.%d.%d", 18+l.id>>8, l.id&255, n) }

// ip runs commands of iproute2.
func ip(lines ...string) (string, error) {
	c := exec.Command("ip", "-batch", "-")
	c.Stdin = strings.NewReader(strings.Join(lines, "\n"))
	out, err := c.CombinedOutput()
	return fmt.Sprintf("ip: %s: %s", strings.Join(lines, "; "), out), err
}

func (l *lan) must(lines ...string) {
	l.t.Helper()
	if out, err := ip(lines...); err != nil {
		l.t.Fatal(out)
	}
}

// host is one network namespace.
type host struct {
	lan     *lan
	name    string
	address string
}

// add makes host number n.
func (l *lan) add(name string, n int) *host {
	l.t.Helper()
	h := &host{lan: l, name: name, address: l.address(n)}
	l.must("netns add " + h.space())
	l.must(fmt.Sprintf("link add %s type veth peer name eth0 netns %s", h.link(), h.space()),
		fmt.Sprintf("link set %s master %s up", h.link(), l.bridge()))
	for _, line := range []string{"addr add " + h.address + "/24 dev eth0", "link set lo up", "link set eth0 up"} {
		words := append([]string{"-n", h.space()}, strings.Fields(line)...)
		if out, err := exec.Command("ip", words...).CombinedOutput(); err != nil {
			l.t.Fatalf("ip %v: %v: %s", words, err, out)
		}
	}
	l.t.Cleanup(func() { l.must("netns del " + h.space()) })
	return h
}

func (h *host) space() string { return fmt.Sprintf("%d-%s", h.lan.id, h.name) }

func (h *host) link() string { return fmt.Sprintf("v%d-%s", h.lan.id, h.name) }

// command is a program on the host. It keeps its process id.
func (h *host) command(args ...string) *exec.Cmd {
	c := exec.Command("nsenter", append([]string{"--net=/run/netns/" + h.space(), "--"}, args...)...)
	c.Env = os.Environ()
	return c
}

// at is where a server of the host listens.
func (h *host) at() string { return fmt.Sprintf("%s:%d", h.address, port) }

// crash kills all processes of the host.
func (h *host) crash() {
	h.lan.t.Helper()
	for {
		out, err := exec.Command("ip", "netns", "pids", h.space()).Output()
		must(h.lan.t, err)
		if len(out) == 0 {
			return
		}
		for text := range strings.FieldsSeq(string(out)) {
			if pid, err := strconv.Atoi(text); err == nil {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	}
}

// plug pulls the host's cable, or puts it back.
func (h *host) plug(in bool) {
	h.lan.t.Helper()
	h.lan.must(fmt.Sprintf("link set %s %s", h.link(), map[bool]string{true: "up", false: "down"}[in]))
}

// lose has all packets from a host to an address vanish, and nothing the other way, or ends one such fault. From "" is
// the test's own host.
func (l *lan) lose(from, to string, lost bool) {
	l.t.Helper()
	way := from + " " + to
	old := l.lost[way]
	l.lost[way] += map[bool]int{true: 1, false: -1}[lost]
	if now := l.lost[way]; (old == 0) == (now == 0) {
		return // another fault has it, too
	}
	where := []string{"dev", l.bridge()}
	command := []string{"neigh"}
	if from != "" {
		where, command = []string{"dev", "eth0"}, []string{"-n", from, "neigh"}
	}
	if lost {
		command = append(command, "replace", to, "lladdr", noHost, "nud", "permanent")
	} else {
		command = append(command, "del", to)
	}
	if out, err := exec.Command("ip", append(command, where...)...).CombinedOutput(); err != nil {
		l.t.Errorf("ip %v: %v: %s", command, err, out)
	}
}
