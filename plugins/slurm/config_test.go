package slurm

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
)

func TestConfigure(t *testing.T) {
	p := New("tioga")
	values := core.Values{}
	for _, f := range p.Schema().Fields {
		values[f.Name] = f.Default
		if f.Doc == "" || f.Doc[len(f.Doc)-1] != '.' {
			t.Errorf("%s: its doc is no sentence: %q", f.Name, f.Doc)
		}
	}
	if err := p.Configure(t.Context(), values); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(defaults(), p.settings, cmp.AllowUnexported(settings{})); diff != "" {
		t.Errorf("the defaults of the schema are not the plugin's own:\n%s", diff)
	}
	if err := p.Configure(t.Context(), core.Values{
		"bin": "/opt/slurm/bin", "conf": "/etc/slurm.conf", "every": time.Second, "prolog_timeout": 2 * time.Minute,
		"task_prolog": "/opt/weft/taskprolog", "command_timeout": time.Minute,
	}); err != nil {
		t.Fatal(err)
	}
	want := settings{bin: "/opt/slurm/bin", conf: "/etc/slurm.conf", every: time.Second, prolog: 2 * time.Minute, tasks: "/opt/weft/taskprolog", patient: time.Minute}
	if diff := cmp.Diff(want, p.settings, cmp.AllowUnexported(settings{})); diff != "" {
		t.Error(diff)
	}
	phases, err := p.Phases(t.Context())
	if err != nil || phases[0].Limit != 2*time.Minute {
		t.Errorf("%+v, %v", phases, err)
	}
	for field, v := range map[string]any{
		"bin": "bin", "conf": "slurm.conf", "every": 999 * time.Millisecond, "prolog_timeout": 121 * time.Second, "command_timeout": time.Duration(0),
	} {
		err := p.Configure(t.Context(), core.Values{field: v})
		path, ok := errors.AsType[*core.PathError](err)
		if !ok || len(path.Path) != 1 || path.Path[0] != field {
			t.Errorf("%s = %v: %v", field, v, err)
		}
	}
	if err := p.Configure(t.Context(), core.Values{"bin": "/usr/bin/../sbin"}); err == nil {
		t.Error("a path that is not clean was taken")
	}
	if diff := cmp.Diff(want, p.settings, cmp.AllowUnexported(settings{})); diff != "" {
		t.Errorf("a block that was refused has changed something:\n%s", diff)
	}
}
