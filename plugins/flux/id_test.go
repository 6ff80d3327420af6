package flux

import (
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weft-hpc/weft/core"
)

// TestAnIDInThreeSpellings: the numbers are RFC 19's own and of recorded jobs.
func TestAnIDInThreeSpellings(t *testing.T) {
	for id, digits := range map[uint64]string{0: "1", 1: "2", 57: "z", 58: "21", 6731191091817518: "uZZybuNNy", one: "9y6M3wD"} {
		for _, text := range []string{"ƒ" + digits, "f" + digits, strconv.FormatUint(id, 10)} {
			if got, err := parseID(text); err != nil || got != id {
				t.Errorf("%s: %d, %v", text, got, err)
			}
		}
		if got := formatID(id); got != "ƒ"+digits {
			t.Errorf("%d is spelled %s", id, got)
		}
		if err := core.CheckJobID(formatID(id)); err != nil {
			t.Error(err)
		}
	}
}

func TestWhatIsNoID(t *testing.T) {
	for _, text := range []string{"", "ƒ", "f", "ƒ0", "ƒl", "ƒ11", "01", "-1", "+1", "1 ", "0x1", "ƒ9y6M3wD/x", "ƒzzzzzzzzzzz", "fzzzzzzzzzzzz", "9223372036854775808", "../1", "ƒ2\n", "f.2"} {
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
