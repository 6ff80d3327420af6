package plugin

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/hclfile"
	"github.com/weft-hpc/weft/host"
)

func TestSpec(t *testing.T) {
	sum := strings.Repeat("0a", 32)
	for _, c := range []struct {
		name, block string
		program     host.Program
		inside      bool
		auto        bool
		bounds      host.Bounds
		finding     string
	}{
		{name: "built in", block: `driver "sim" {}`, program: host.Self("plugin", "serve", "driver", "sim", "sim")},
		{name: "in the daemon", block: `driver "sim" { in_process = true }`, inside: true},
		{name: "third party's", block: "driver \"x\" {\n command = [\"/opt/x\", \"-v\"]\n sha256 = \"" + sum + "\"\n auto_mtls = true\n memory = 512\n processes = 100\n}",
			program: host.Program{Path: "/opt/x", Args: []string{"/opt/x", "-v"}, SHA256: sum}, auto: true, bounds: host.Bounds{Memory: 512 << 20, Processes: 100}},
		{name: "unknown", block: `driver "sin" {}`, finding: `there is no driver "sin"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := "nodes = \"n1\"\npool \"a\" { vnis = \"20\" }\nscheduler \"local\" \"l\" {}\n" + c.block + "\n"
			conf, findings := config.Parse(hclfile.Source{Name: "config.hcl", Text: []byte(text)})
			if findings != nil {
				t.Fatal(findings)
			}
			var in Blocks
			s, findings := in.Spec(host.Driver, conf.Drivers[0])
			if c.finding != "" {
				if len(findings) != 1 || findings[0].Summary != c.finding {
					t.Errorf("%+v", findings)
				}
				return
			}
			if findings != nil {
				t.Fatal(findings)
			}
			if diff := cmp.Diff(c.program, s.Program, cmp.AllowUnexported(host.Program{})); diff != "" || (s.Value != nil) != c.inside || s.AutoMTLS != c.auto {
				t.Errorf("%+v: %s", s, diff)
			}
			if got := s.Bounds(); got != c.bounds {
				t.Errorf("its bounds are %+v, not %+v", got, c.bounds)
			}
			changed := conf.Drivers[0]
			changed.Memory = 64
			in.set(changed)
			if got := s.Bounds().Memory; got != 64<<20 {
				t.Errorf("after a reload it may have %d bytes", got)
			}
		})
	}
}
