package config_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/hclfile"
)

func TestDiff(t *testing.T) {
	const text = `
nodes = "n[1-4]"
pool "jobs" { vnis = "1024-2047" }
scheduler "local" "local" { jobs_per_user = 4 }
driver "sim" { nics = 4 }
server { listen = "127.0.0.1:6464" }
`
	tests := []struct {
		old, new string
		want     []string
	}{
		{"", "", nil},
		{`"n[1-4]"`, `"n[1-5]"`, []string{"nodes: in force now"}},
		{"2047", "4095", []string{`pool "jobs": in force now`}},
		{`pool "jobs"`, `pool "work"`, []string{`pool "jobs": in force now`, `pool "work": in force now`}},
		{"jobs_per_user = 4", "jobs_per_user = 5", []string{`scheduler "local local": needs a restart`}},
		{"nics = 4", "nics = 8", []string{`driver "sim sim": needs a restart`}},
		{"6464", "6465", []string{"server: listen: needs a restart"}},
	}
	for _, tt := range tests {
		a, b := parse(t, text), parse(t, strings.Replace(text, tt.old, tt.new, 1))
		var got []string
		for _, d := range config.Diff(a, b) {
			got = append(got, fmt.Sprint(d))
		}
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%q for %q (-want +got):\n%s", tt.new, tt.old, d)
		}
	}
}

func parse(t *testing.T, text string) *config.Config {
	t.Helper()
	c, findings := config.Parse(hclfile.Source{Name: "config.hcl", Text: []byte(text)})
	if hclfile.Failed(findings) {
		t.Fatal(findings)
	}
	return c
}
