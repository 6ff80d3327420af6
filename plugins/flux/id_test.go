package flux

import (
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weft-hpc/weft/core"
)

// TestAnIDInEachSpelling has the numbers of RFC 19 and of recorded jobs, as `flux job id` of 0.88.0 spells them.
func TestAnIDInEachSpelling(t *testing.T) {
	for _, c := range []struct {
		id     uint64
		digits string
		others []string
	}{
		{0, "1", []string{"0x0", "0000.0000.0000.0000", "academy-academy-academy--academy-academy-academy"}},
		{1, "2", nil}, {57, "z", nil}, {58, "21", nil},
		{6731191091817518, "uZZybuNNy", []string{"reform-remote-galileo--heart-package-academy"}},
		{one, "9y6M3wD", []string{
			"0x4f7b000000", "0000.004f.7b00.0000", "job.0000.004f.7b00.0000",
			"grand-chapter-water--boston-academy-academy",
		}},
	} {
		for _, text := range append(c.others, "ƒ"+c.digits, "f"+c.digits, strconv.FormatUint(c.id, 10)) {
			if got, err := parseID(text); err != nil || got != c.id {
				t.Errorf("%s: %d, %v", text, got, err)
			}
			want := "ƒ" + c.digits
			if n, err := strconv.ParseUint(text, 10, 32); err == nil {
				want = strconv.FormatUint(n, 10) // perhaps a job of Slurm
			}
			if got := Spelled(text); got != want {
				t.Errorf("%s: spelled %s, want %s", text, got, want)
			}
		}
		if got := formatID(c.id); got != "ƒ"+c.digits {
			t.Errorf("%d is spelled %s", c.id, got)
		}
		if err := core.CheckJobID(formatID(c.id)); err != nil {
			t.Error(err)
		}
	}
	for _, text := range []string{"77", "77_3", "123.pbs1", "5[].pbs1", "n1.5", "login-1.5", "alice-1", "x", ""} {
		if got := Spelled(text); got != text {
			t.Errorf("%s of another scheduler is spelled %s", text, got)
		}
	}
}

func TestWhatIsNoID(t *testing.T) {
	for _, text := range []string{"", "ƒ", "f", "ƒ0", "ƒl", "ƒ11", "01", "-1", "+1", "1 ", "0x", "0x+1", "0xffffffffffffffff", "ƒ9y6M3wD/x", "ƒzzzzzzzzzzz", "fzzzzzzzzzzzz", "9223372036854775808", "../1", "ƒ2\n", "f.2", "0000.004f.7b00", "job.9y6M3wD", "grand-chapter-water", "grand-chapter-nowhere--boston-academy-academy", "yes-yes-yes--yes-yes-yes"} {
		_, err := parseID(text)
		checkError(t, err, core.BadCall, "job id")
	}
	_, err := parseID("f12") // 1 is base58's zero
	checkError(t, err, core.BadCall, `"f12"`)
}

func TestEveryIDIsReadAsItIsSpelled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.Uint64Max(1<<63-1).Draw(t, "id")
		if got, err := parseID(formatID(id)); err != nil || got != id {
			t.Errorf("%d: %d, %v", id, got, err)
		}
	})
}

func TestPaths(t *testing.T) {
	for text, want := range map[string]string{
		"/ƒ9y6M3wD": "/ƒ9y6M3wD", "/f9y6M3wD/58": "/ƒ9y6M3wD/ƒ21", "": "", "/": "", "ƒ2": "", "/ƒ2/": "", "/ƒ2//ƒ2": "", "/ƒ2\nexport X=1": "", "/.." + strings.Repeat("/ƒ2", 100): "",
		strings.Repeat("/ƒ2", 100): "",
	} {
		if got, err := parsePath(text); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}

func FuzzParseID(f *testing.F) {
	f.Add("ƒ9y6M3wD")
	f.Add("341366013952")
	f.Add("job.0000.004f.7b00.0000")
	f.Add("grand-chapter-water--boston-academy-academy")
	f.Fuzz(func(t *testing.T, text string) {
		id, err := parseID(text)
		if err != nil {
			return
		}
		if again, err := parseID(formatID(id)); err != nil || again != id {
			t.Errorf("%q is %d, spelled %s, which is %d, %v", text, id, formatID(id), again, err)
		}
	})
}
