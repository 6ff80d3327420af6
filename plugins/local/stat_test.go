package local

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

const tail = " S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20 21"

func TestParseStat(t *testing.T) {
	for _, comm := range []string{"cat", "", ")", "(", "a) Z 9 9 (b", "x) S 1 2 3", "new\nline", " ", "\x00\xff"} {
		got, err := parseStat([]byte("77 (" + comm + ")" + tail + "\n"))
		if err != nil || got != (stat{77, 'S', 4711}) {
			t.Errorf("%q: %+v, %v", comm, got, err)
		}
	}
	for _, bad := range []string{"", "77", "77 (cat", "77 (cat)", "(cat)" + tail, "x (cat)" + tail, "-1 (cat)" + tail, "77 (cat) S 1 2 3", "77 (cat) SS" + tail[2:], strings.Replace("77 (cat)"+tail, "4711", "-1", 1)} {
		if got, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q: %+v", bad, got)
		}
	}
}

func TestParseStatus(t *testing.T) {
	got, err := parseStatus([]byte("Name:\tUid:\\n0\nUid:\t1\t2\t3\t4\nGid:\t5\t6\t7\t8\nGroups:\t9 10 \n"))
	if err != nil || got.uids != [4]uint32{1, 2, 3, 4} || got.gids != [4]uint32{5, 6, 7, 8} || fmt.Sprint(got.groups) != "[9 10]" {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range []string{"", "Uid:\t1\t2\t3\nGid:\t5\t6\t7\t8\nGroups:\n", "Uid:\t1\t2\t3\t4\nGid:\t5\t6\t7\t8\n", "Uid:\t1\t2\t3\tx\nGid:\t5\t6\t7\t8\nGroups:\n", "Uid: 4294967296 0 0 0\nGid: 0 0 0 0\nGroups:\n"} {
		if got, err := parseStatus([]byte(bad)); err == nil {
			t.Errorf("%q: %+v", bad, got)
		}
	}
}

func TestTheKernelsOwn(t *testing.T) {
	p, err := hold(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if p.pid != os.Getpid() || int(p.uids[0]) != os.Getuid() || int(p.gids[0]) != os.Getgid() {
		t.Errorf("got %+v, %+v", p.stat, p.owner)
	}
	at, err := began(p.start)
	if err != nil {
		t.Fatal(err)
	}
	if age := time.Now().Unix() - at; age < 0 || age > 3600 {
		t.Errorf("this test began %d s ago", age)
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("77 (cat)" + tail))
	f.Add([]byte("77 (a) b (c)" + tail))
	f.Fuzz(func(t *testing.T, in []byte) {
		s, err := parseStat(in)
		if err != nil {
			return
		}
		if s.pid <= 0 {
			t.Errorf("%q has pid %d", in, s.pid)
		}
		// Whatever the name is, what stands around it decides.
		again := fmt.Appendf(nil, "%d (%s)%s", s.pid, in, tail)
		if got, err := parseStat(again); err != nil || got != (stat{s.pid, 'S', 4711}) {
			t.Errorf("%q: %+v, %v", again, got, err)
		}
	})
}

func FuzzParseStatus(f *testing.F) {
	f.Add([]byte("Uid:\t1\t2\t3\t4\nGid:\t5\t6\t7\t8\nGroups:\t9 10 \n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		if o, err := parseStatus(in); err == nil && len(o.groups) > len(in) {
			t.Errorf("%q: %+v", in, o)
		}
	})
}
