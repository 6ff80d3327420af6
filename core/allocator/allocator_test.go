package allocator

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weft-hpc/weft/core"
)

func jobs(t testing.TB, ranges string) *Allocator {
	t.Helper()
	r, err := ParseRanges(ranges)
	if err != nil {
		t.Fatal(err)
	}
	a, err := New([]Pool{{"jobs", r}})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func take(t testing.TB, a *Allocator, n int) []core.VNI {
	t.Helper()
	out := make([]core.VNI, n)
	for i := range out {
		v, err := a.Take("jobs")
		if err != nil {
			t.Fatal(err)
		}
		out[i] = v
	}
	return out
}

// count is how many VNIs the pool has and how many are free; 0 for a pool that does not exist.
func count(a *Allocator, name string) (size, free int) {
	if p := a.byName[name]; p != nil {
		return p.size, p.free
	}
	return 0, 0
}

// holds is how often v is held, in a pool or outside.
func holds(a *Allocator, v core.VNI) int {
	if s := a.slot(v); s != nil {
		return int(s.holds)
	}
	return int(a.away[v].holds)
}

// outside lists the VNIs in ascending order that are held and lie outside every pool.
func outside(a *Allocator) []core.VNI {
	var out []core.VNI
	for i := range last {
		v := core.VNI(i + 1)
		if s := a.slot(v); (s == nil || s.pool == 0) && holds(a, v) > 0 {
			out = append(out, v)
		}
	}
	return out
}

func TestDefaultVNIsAreNeverGiven(t *testing.T) {
	a := jobs(t, "1-12")
	if got, want := take(t, a, 10), []core.VNI{2, 3, 4, 5, 6, 7, 8, 9, 11, 12}; !slices.Equal(got, want) {
		t.Errorf("took %v, want %v", got, want)
	}
	a.Hold(1)
	a.Give(1)
	if v, err := a.Take("jobs"); err == nil {
		t.Errorf("took %v out of an empty pool", v)
	}
}

func TestPoolEmptyNamesItAndItsUse(t *testing.T) {
	a := jobs(t, "2000-2003")
	take(t, a, 4)
	for _, test := range []struct {
		pool string
		code core.Code
		what string
	}{
		{"jobs", core.Exhausted, `pool "jobs": no VNI is free: it has 4 and 4 are in use`},
		{"job", core.NotFound, `pool "job": no pool has this name`},
	} {
		if _, err := a.Take(test.pool); !errors.Is(err, test.code) || err.Error() != test.what {
			t.Errorf("take: %v, want %v %s", err, test.code, test.what)
		}
	}
	if _, err := a.Take("jobs"); core.AsError(err).Reason != core.PoolEmpty {
		t.Errorf("take of an empty pool: %v", err)
	}
}

func TestRestartGoesOnBehindWhatWasGiven(t *testing.T) {
	a := jobs(t, "1024-65535")
	for _, v := range []core.VNI{4000, 4001, 4002} {
		a.Hold(v)
	}
	if got := take(t, a, 2); got[0] != 4003 || got[1] != 4004 {
		t.Errorf("took %v, want 4003 and 4004", got)
	}
	a.Hold(65535)
	if got := take(t, a, 1); got[0] != 1024 {
		t.Errorf("took %v behind the end, want 1024", got)
	}
	a.Give(4001)
	if a.Hold(4001); holds(a, 4001) != 1 {
		t.Errorf("held %d times, want once", holds(a, 4001))
	}
	if got := take(t, a, 1); got[0] != 1025 {
		t.Errorf("took %v: holding what came back moved the cursor", got)
	}
}

func TestHoldsAreCounted(t *testing.T) {
	a := jobs(t, "100-101")
	v := take(t, a, 1)[0]
	a.Hold(v)
	a.Hold(v)
	for want := 2; want >= 0; want-- {
		a.Give(v)
		if _, free := count(a, "jobs"); holds(a, v) != want || (free == 2) != (want == 0) {
			t.Errorf("held %d times with %d free, want %d", holds(a, v), free, want)
		}
	}
	a.Give(v)
	if _, free := count(a, "jobs"); holds(a, v) != 0 || free != 2 {
		t.Error("giving what is free changed something")
	}
}

func TestResizeKeepsWhatIsHeld(t *testing.T) {
	a := jobs(t, "100-109")
	take(t, a, 4) // 100 to 103
	a.Give(101)
	if err := a.Resize([]Pool{{"jobs", []Range{{104, 109}}}, {"dirt", []Range{{109, 120}}}}); !errors.Is(err, core.Invalid) {
		t.Fatalf("overlapping pools: %v", err)
	}
	if size, _ := count(a, "jobs"); size != 10 || len(a.pools) != 1 {
		t.Fatal("a refused resize changed the pools")
	}
	if err := a.Resize([]Pool{{"jobs", []Range{{103, 109}}}}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]core.VNI{100, 102}, outside(a)); diff != "" {
		t.Error(diff)
	}
	if got := a.Use()["jobs"]; got != 1 {
		t.Errorf("%d in use, want 103 only", got)
	}
	a.Give(100)
	if err := a.Resize([]Pool{{"jobs", []Range{{100, 104}}}}); err != nil {
		t.Fatal(err)
	}
	if got := take(t, a, 3); !slices.Equal(got, []core.VNI{104, 101, 100}) {
		t.Errorf("took %v, want the new one and then the returned in their order", got)
	}
	if _, err := a.Take("jobs"); err == nil {
		t.Error("102 and 103 are held and were given")
	}
	if err := a.Resize(nil); err != nil {
		t.Fatal(err)
	}
	if got := outside(a); len(got) != 5 {
		t.Errorf("without a pool %v stay held, want 100 to 104", got)
	}
}

func TestPoolsThatAreRefused(t *testing.T) {
	for _, test := range []struct {
		pools []Pool
		what  string
	}{
		{[]Pool{{"a", []Range{{100, 200}}}, {"b", []Range{{200, 300}}}}, `pools "a" and "b": their VNI ranges 100-200 and 200-300 overlap`},
		{[]Pool{{"a", []Range{{100, 200}, {150, 150}}}}, `pool "a": its VNI ranges 100-200 and 150 overlap`},
		{[]Pool{{"a", []Range{{100, 200}}}, {"a", []Range{{300, 400}}}}, `pool "a": two pools have this name`},
		{[]Pool{{"a", nil}}, `pool "a": it has no VNI to give: 1 and 10 belong to the default service`},
		{[]Pool{{"a", []Range{{1, 1}, {10, 10}}}}, `pool "a": it has no VNI to give: 1 and 10 belong to the default service`},
		{[]Pool{{"a", []Range{{0, 10}}}}, `pool "a": VNI range 0-10: VNIs go from 1 to 65535, the lower first`},
		{[]Pool{{"a", []Range{{20, 12}}}}, `pool "a": VNI range 20-12: VNIs go from 1 to 65535, the lower first`},
		{[]Pool{{"", []Range{{20, 22}}}}, `pool "": it has no name`},
	} {
		if _, err := New(test.pools); err == nil || err.Error() != test.what {
			t.Errorf("got %v\nwant %s", err, test.what)
		}
	}
}

// formatRanges writes ranges as ParseRanges reads them.
func formatRanges(ranges []Range) string {
	var b strings.Builder
	for i, r := range ranges {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(r.String())
	}
	return b.String()
}

func TestParseRanges(t *testing.T) {
	for _, test := range []struct{ in, want, err string }{
		{"1024-65535", "1024-65535", ""},
		{" 2000 - 2999 ,4000", "2000-2999,4000", ""},
		{"9,8,7", "9,8,7", ""},
		{"1", "1", ""},
		{"0-70000", "", `VNI range "0-70000": VNIs go from 1 to 65535`},
		{"99999999999999999999999", "", `VNI range "99999999999999999999999": VNIs go from 1 to 65535`},
		{"0", "", `VNI range "0": VNIs go from 1 to 65535`},
		{"30-20", "", `VNI range "30-20": it ends before it begins`},
		{"", "", `VNI range "": no VNI is named`},
		{"1,", "", `VNI range "": it is not a number or two numbers joined by -`},
		{"-5", "", `VNI range "-5": it is not a number or two numbers joined by -`},
		{"1-2-3", "", `VNI range "1-2-3": it is not a number or two numbers joined by -`},
		{"0x10", "", `VNI range "0x10": it is not a number or two numbers joined by -`},
		{"+5", "", `VNI range "+5": it is not a number or two numbers joined by -`},
		{"5\n6", "", `VNI range "5\n6": it is not a number or two numbers joined by -`},
		{"5-9,7-12", "", `VNI range "5-9,7-12": 5-9 and 7-12 overlap`},
		{strings.Repeat("1,", 5000), "", "VNI ranges: 5001 of them are more than the 4096 allowed"},
		{strings.Repeat(" ", 70000), "", "VNI ranges: 70000 bytes are more than the 65536 allowed"},
	} {
		got, err := ParseRanges(test.in)
		if test.err != "" {
			if !errors.Is(err, core.Invalid) || err.Error() != test.err {
				t.Errorf("%q: %v, want %s", core.Clip(test.in), err, test.err)
			}
			continue
		}
		if err != nil || formatRanges(got) != test.want {
			t.Errorf("%q: %v %v", test.in, got, err)
		}
	}
}

func FuzzParseRanges(f *testing.F) {
	for _, s := range []string{"1024-65535", "2000-2999,4000", "0-70000", "1-", "-", ",", "٣", "1-1,1-1", "65535,65536"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		ranges, err := ParseRanges(s)
		if err != nil {
			if strings.Contains(err.Error(), "\n") || len(err.Error()) > 1000 {
				t.Errorf("error of %d bytes or several lines: %q", len(err.Error()), err)
			}
			return
		}
		again, err := ParseRanges(formatRanges(ranges))
		if diff := cmp.Diff(ranges, again); err != nil || diff != "" {
			t.Errorf("%q read, written and read again: %v %s", s, err, diff)
		}
		total := 0
		for _, r := range ranges {
			total += int(r.Last) - int(r.First) + 1
		}
		a, err := New([]Pool{{"p", ranges}})
		if err != nil {
			return
		}
		if size, _ := count(a, "p"); size > total || size < total-2 {
			t.Errorf("%q: pool of %d out of %d VNIs", s, size, total)
		}
	})
}
