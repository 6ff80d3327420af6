package shadow

import (
	"bytes"
	"compress/gzip"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/weft-hpc/weft/hclfile"
	"github.com/weft-hpc/weft/policy"
)

func packed(t *testing.T, text []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func withComment(t *testing.T, comment string) *policy.Policy {
	t.Helper()
	text := "traffic_classes = [\"BEST_EFFORT\"]\nlimits = \"l\"\nvnis = [\"app\"]\nlimits \"l\" { txqs = { reserved = 1, max = 1 } }\nvni \"app\" { pool = \"jobs\" }\n"
	files := []hclfile.Source{{Name: "a.policy.hcl", Text: []byte(text)}, {Name: "b.policy.hcl", Text: []byte("# " + comment + "\n")}}
	p, findings := policy.Load(files, policy.Env{Pools: []string{"jobs"}})
	if p == nil {
		t.Fatal(hclfile.AsError(findings))
	}
	return p
}

func TestPackedPolicy(t *testing.T) {
	p := withComment(t, "short")
	in, err := Pack(p)
	if err != nil {
		t.Fatal(err)
	}
	files, err := unpack(in)
	if err != nil || len(files) != 2 || files[0].Name != "a.policy.hcl" || string(files[1].Text) != "# short\n" {
		t.Errorf("%+v, %v", files, err)
	}
	var odd strings.Builder
	for random := rand.New(rand.NewPCG(1, 2)); odd.Len() < 80<<10; {
		odd.WriteByte(byte('a' + random.IntN(26)))
	}
	if _, err := Pack(withComment(t, odd.String())); err == nil || !strings.Contains(err.Error(), "the policy has") {
		t.Errorf("of what cannot be packed into a request: %v", err)
	}
	for name, c := range map[string]struct {
		in   []byte
		want string
	}{
		"not packed":      {[]byte("vnis = []"), "cannot be unpacked"},
		"cut off":         {in[:len(in)-9], "cannot be unpacked"},
		"no policy":       {packed(t, []byte("vnis = []\n")), "its first line or its length is wrong"},
		"far more inside": {packed(t, make([]byte, 64<<20)), "more than 1048576 bytes"},
	} {
		if _, err := unpack(c.in); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
