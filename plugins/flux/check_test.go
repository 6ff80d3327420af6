package flux

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/plugins/flux/broker/brokertest"
)

// asInstalled is Flux's configuration as `weft init flux` would have it.
const asInstalled = `{"job-manager":{"plugins":[{"load":"perilog.so"}],"prolog":{"per-rank":true,"timeout":"30m"},"epilog":{"per-rank":true}},"exec":{"imp":"/usr/libexec/flux/flux-imp"}}`

func TestCheck(t *testing.T) {
	var out strings.Builder
	for _, c := range []struct{ name, config string }{
		{"set", asInstalled},
		{"nothing set", `{}`},
		{"commands of its own", strings.NewReplacer(`,"exec":{"imp":"/usr/libexec/flux/flux-imp"}`, "", `"per-rank":true`, `"per-rank":true,"command":["/etc/x"]`).Replace(asInstalled)},
		{"on rank 0 alone", strings.ReplaceAll(asInstalled, `"per-rank":true,`, "")},
		{"a short timeout", strings.Replace(asInstalled, `"30m"`, `"5m"`, 1)},
		{"a timeout for one try alone", strings.Replace(asInstalled, `"30m"`, `"15m"`, 1)},
		{"a timeout that just fits", strings.Replace(asInstalled, `"30m"`, `"16m"`, 1)},
		{"a short timeout in seconds", strings.Replace(asInstalled, `"30m"`, `60`, 1)},
		{"no timeout", strings.Replace(asInstalled, `"30m"`, `"0"`, 1)},
		{"flux-coral2 beside", strings.Replace(asInstalled, `{"load":"perilog.so"}`, `{"load":"perilog.so"},{"load":"/usr/lib/flux/cray-slingshot.so"}`, 1)},
		{"of another form", `{"job-manager":7}`},
	} {
		p, b := manager(t)
		b.Configure(json.RawMessage(c.config))
		report(t, &out, c.name, p)
	}
	p, b := manager(t)
	b.Configure(json.RawMessage(asInstalled))
	b.Attr("instance-level", "1")
	report(t, &out, "a sub-instance", p)
	p, b = manager(t)
	b.Configure(json.RawMessage(asInstalled))
	b.Attr("local-uri", "local:///var/run/flux/local")
	report(t, &out, "a socket by another path", p)
	p, b = manager(t)
	b.Configure(json.RawMessage(asInstalled))
	b.OwnedBy(stranger)
	report(t, &out, "a guest", p)
	p, b = manager(t)
	b.Starting(true)
	report(t, &out, "no job manager", p)
	b.Stop()
	report(t, &out, "no broker", p)
	golden(t, "check", out.String())
}

// manager is a plugin on a node that runs no jobs, where no file is looked at.
func manager(t *testing.T) (wired, *brokertest.Broker) {
	t.Helper()
	p, b := adapter(t)
	b.Exclude("0")
	return p, b
}

func report(t *testing.T, out *strings.Builder, name string, p wired) {
	t.Helper()
	all, err := p.Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(out, "== %s\n", name)
	for _, f := range all {
		text := fmt.Sprintf("%d %s [%s] -> %s\n", f.Severity, f.What, f.Evidence, f.Remedy)
		out.WriteString(strings.ReplaceAll(text, strings.TrimPrefix(p.settings.uri, "local://"), "SOCKET"))
	}
}

func TestDurationsOfFlux(t *testing.T) {
	for text, want := range map[string]time.Duration{"30m": 30 * time.Minute, "1.5h": 90 * time.Minute, "10": 10 * time.Second, "250ms": 250 * time.Millisecond, "1d": 24 * time.Hour, "0": 0, "inf": 0, "infinity": 0, "": 0, "x": 0, "-1s": 0} {
		if got, ok := parseFSD(text); ok && got != want || ok != (want > 0) {
			t.Errorf("%q: %v, %v", text, got, ok)
		}
	}
}

func TestConfigure(t *testing.T) {
	p := New("tioga")
	if err := p.Configure(t.Context(), core.Values{"uri": "local:///run/x/local-0", "user": "flux", "every": time.Minute, "prolog_timeout": time.Hour, "call_timeout": time.Second}); err != nil {
		t.Fatal(err)
	}
	want := settings{uri: "local:///run/x/local-0", user: "flux", every: time.Minute, prolog: time.Hour, patient: time.Second}
	if p.settings != want {
		t.Errorf("%+v", p.settings)
	}
	for field, v := range map[string]any{"uri": "ssh://x/run/flux", "user": "a b", "every": time.Millisecond, "prolog_timeout": 2 * time.Hour, "call_timeout": time.Hour} {
		err := p.Configure(t.Context(), core.Values{field: v})
		e, ok := err.(*core.PathError)
		if !ok || len(e.Path) != 1 || e.Path[0] != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	if p.settings != want {
		t.Error("a refused block changed what is in force")
	}
	if err := p.Configure(t.Context(), core.Values{}); err != nil || p.settings != defaults() {
		t.Errorf("%+v, %v", p.settings, err)
	}
	for _, f := range p.Schema().Fields {
		if f.Doc == "" || f.Default == nil {
			t.Errorf("field %s", f.Name)
		}
	}
}
