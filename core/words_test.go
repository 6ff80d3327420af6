package core

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
)

func TestParseClass(t *testing.T) {
	for i, name := range ClassNames() {
		lower := strings.ToLower(name)
		for _, s := range []string{
			name, lower, "TC_" + name, "tc_" + lower, "Tc_" + name, "CXI_TC_" + name, "cxi_tc_" + lower,
		} {
			if got, err := ParseClass(s); err != nil || got != 1<<i {
				t.Errorf("ParseClass(%q) = %v, %v; want %s", s, got, err, name)
			}
		}
	}
	for _, s := range []string{
		"", "TC_", "ETH", "BEST EFFORT", "BEST_EFFORT\n", "TC_TC_BULK_DATA", "CXI_BULK_DATA", "CXI_TC_TC_BULK_DATA",
		strings.Repeat("x", 1<<20),
	} {
		_, err := ParseClass(s)
		if err == nil {
			t.Fatalf("ParseClass(%q) accepts it", Clip(s))
		}
		checkRefusal(t, err)
	}
}

// The bits are those of SLINGSHOT_TCS: libfabric and the jobs read them.
func TestClassesEnv(t *testing.T) {
	for _, tt := range []struct {
		set        Classes
		env, names string
	}{
		{0, "0x0", ""},
		{DedicatedAccess, "0x1", "DEDICATED_ACCESS"},
		{LowLatency, "0x2", "LOW_LATENCY"},
		{BulkData, "0x4", "BULK_DATA"},
		{BestEffort, "0x8", "BEST_EFFORT"},
		{BestEffort | LowLatency, "0xa", "LOW_LATENCY,BEST_EFFORT"},
		{AllClasses, "0xf", "DEDICATED_ACCESS,LOW_LATENCY,BULK_DATA,BEST_EFFORT"},
	} {
		if tt.set.Env() != tt.env || tt.set.String() != tt.names {
			t.Errorf("%d: %s %s, want %s %s", uint8(tt.set), tt.set.Env(), tt.set, tt.env, tt.names)
		}
	}
}

func TestParseResource(t *testing.T) {
	for i, name := range ResourceNames() {
		r := Resource(i)
		if r.String() != name {
			t.Errorf("Resource(%d) = %q, want %q", i, r, name)
		}
		one := strings.TrimSuffix(name, "s")
		for _, s := range []string{name, one, strings.ToUpper(name), strings.ToUpper(one), strings.ToUpper(one) + "s"} {
			if got, err := ParseResource(s); err != nil || got != r {
				t.Errorf("ParseResource(%q) = %v, %v; want %v", s, got, err, r)
			}
		}
	}
	for _, s := range []string{"", "s", "t", "txqss", "mrs", "tx q", "les\n"} {
		_, err := ParseResource(s)
		if err == nil {
			t.Fatalf("ParseResource(%q) accepts it", s)
		}
		checkRefusal(t, err)
	}
	if NumResources.String() != "unknown" {
		t.Errorf("NumResources = %q, want unknown", NumResources)
	}
}

func TestParseVNI(t *testing.T) {
	for s, want := range map[string]VNI{"1": 1, "10": 10, "4034": 4034, "65535": 65535, "0007": 7} {
		if got, err := ParseVNI(s); err != nil || got != want {
			t.Errorf("ParseVNI(%q) = %d, %v; want %d", s, got, err, want)
		}
	}
	for _, s := range []string{
		"", "0", "65536", "-1", "+1", "1_0", "0x10", " 1", "1\n", "1.0", "1e3", "4294967297", strings.Repeat("9", 1<<20),
	} {
		_, err := ParseVNI(s)
		if err == nil {
			t.Fatalf("ParseVNI(%q) accepts it", Clip(s))
		}
		checkRefusal(t, err)
	}
}

func FuzzParseVNI(f *testing.F) {
	for _, s := range []string{"1", "65535", "0", "65536", "-1", "٣", "1\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, err := ParseVNI(s)
		if err != nil {
			checkRefusal(t, err)
			return
		}
		if v == 0 || strings.TrimLeft(s, "0") != strconv.Itoa(int(v)) {
			t.Errorf("ParseVNI(%q) = %d", s, v)
		}
	})
}

func TestFormatVNIs(t *testing.T) {
	for _, tt := range []struct {
		in   []VNI
		want string
	}{
		{nil, ""},
		{[]VNI{7}, "7"},
		{[]VNI{4034, 12, 65535}, "4034,12,65535"}, // the order given is kept: it is an ABI
	} {
		if got := FormatVNIs(tt.in); got != tt.want {
			t.Errorf("FormatVNIs(%v) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestDefaultVNIs(t *testing.T) {
	for v := range 65536 {
		if got, want := VNI(v).IsDefault(), v == 1 || v == 10; got != want {
			t.Errorf("VNI(%d).IsDefault() = %v", v, got)
		}
	}
}

func TestHeadBefore(t *testing.T) {
	head := func(store string, epoch, revision uint64) Head {
		return Head{Store: store, Epoch: epoch, Revision: revision}
	}
	of := func(incarnation uint64, h Head) Head { h.Incarnation = incarnation; return h }
	for _, tt := range []struct {
		name string
		h, g Head
		want bool
	}{
		{"nothing seen yet", head("a", 1, 5), Head{}, false},
		{"nothing and nothing", Head{}, Head{}, false},
		{"no store against one seen", Head{}, head("a", 0, 0), true},
		{"the same", head("a", 1, 5), head("a", 1, 5), false},
		{"older revision", head("a", 1, 4), head("a", 1, 5), true},
		{"newer revision", head("a", 1, 6), head("a", 1, 5), false},
		{"older epoch, higher revision", head("a", 0, 9), head("a", 1, 5), true},
		{"newer epoch, lower revision", head("a", 2, 1), head("a", 1, 5), false},
		{"another store, one way", head("a", 1, 5), head("b", 1, 5), true},
		{"another incarnation, one way", of(1, head("a", 2, 9)), of(2, head("a", 2, 5)), true},
		{"another incarnation, the other way", of(2, head("a", 2, 5)), of(1, head("a", 2, 9)), true},
		{"an earlier incarnation", of(2, head("a", 2, 5)), of(1, head("a", 1, 9)), false},
		{"one of a release without", of(1, head("a", 2, 9)), head("a", 2, 5), false},
		{"one of a release without, later", of(1, head("a", 2, 5)), head("a", 2, 9), true},
		{"another store, the other way", head("b", 9, 9), head("a", 0, 0), true},
	} {
		if got := tt.h.Before(tt.g); got != tt.want {
			t.Errorf("%s: %+v.Before(%+v) = %v, want %v", tt.name, tt.h, tt.g, got, tt.want)
		}
	}
}

func TestServiceSame(t *testing.T) {
	s := Service{Device: "cxi0", ID: 7, Owner: UID(1000), VNIs: []VNI{4034}}
	same := s
	same.Enabled, same.Classes = true, BulkData
	if !s.Same(same) {
		t.Error("what a NIC may change made it another service")
	}
	for name, change := range map[string]func(*Service){
		"device": func(s *Service) { s.Device = "cxi1" },
		"id":     func(s *Service) { s.ID = 8 },
		"owner":  func(s *Service) { s.Owner = UID(1001) },
		"kind":   func(s *Service) { s.Owner.Kind = OwnerGID },
		"VNIs":   func(s *Service) { s.VNIs = []VNI{4035} },
	} {
		other := s
		change(&other)
		if s.Same(other) {
			t.Errorf("another %s is taken for the same service: Weft would destroy what it did not make", name)
		}
	}
}

// Values outside the enums come over the wire from newer releases; none may panic.
func TestStringsAreTotal(t *testing.T) {
	for i := range 256 {
		n := uint8(i)
		for _, s := range []fmt.Stringer{Code(n), Scope(n), Classes(n), Resource(n), Action(n), JobState(n), HeldState(n)} {
			_ = s.String()
		}
	}
}

func TestJobNodes(t *testing.T) {
	j := Job{Placements: []Placement{{Hosts: "n[1-3]", Nodes: 3, Cores: 64}, {Hosts: "n4", Nodes: 1, Cores: 8}}}
	if j.Nodes() != 4 {
		t.Errorf("Nodes() = %d, want 4", j.Nodes())
	}
}

func TestPathErrorUnwraps(t *testing.T) {
	err := error(&PathError{Path: []string{"timeout"}, Err: Errorf(BadConfig, "timeout: 0s: it must be above 0s")})
	if !errors.Is(err, Invalid) || err.Error() != "timeout: 0s: it must be above 0s" {
		t.Errorf("%v: the complaint is lost", err)
	}
}

func TestIsVNIRange(t *testing.T) {
	for _, c := range []struct {
		first VNI
		n     int
		want  bool
	}{
		{2048, 8, true}, {2048, 2048, true}, {7, 1, true}, {65528, 8, true},
		{8, 0, false}, {2048, 7, false}, {2044, 8, false}, {0, 8, false},
	} {
		var v []VNI
		for i := range c.n {
			v = append(v, c.first+VNI(i))
		}
		if got := IsVNIRange(v); got != c.want {
			t.Errorf("%d VNIs from %d: %v", c.n, c.first, got)
		}
	}
	if IsVNIRange([]VNI{8, 9, 11, 10}) {
		t.Error("out of order is no range")
	}
}

func TestVNIRanges(t *testing.T) {
	many := func(from, step, n int) (out []VNI) {
		for i := range n {
			out = append(out, VNI(from+i*step))
		}
		return out
	}
	for _, c := range []struct {
		vnis []VNI
		want string
	}{
		{nil, ""},
		{[]VNI{4034}, "4034"},
		{[]VNI{4034, 4035}, "4034,4035"},
		{[]VNI{7, 4034, 4035, 4036, 9}, "7,4034-4036,9"},
		{many(1024, 1, 64000), "1024-65023"},
		{[]VNI{65534, 65535}, "65534,65535"},
	} {
		if got := VNIRanges(c.vnis); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	odd := many(1025, 2, 32000)
	if got := VNIRanges(odd); len(got) > 300 || !strings.HasSuffix(got, " and 31948 more") {
		t.Errorf("%d bytes: %s", len(got), got)
	}
	if got := AllVNIRanges(odd); got != FormatVNIs(odd) {
		t.Errorf("%d bytes of %d VNIs", len(got), len(odd))
	}
}
