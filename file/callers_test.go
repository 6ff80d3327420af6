package file_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/daemon/election"
	"github.com/weft-hpc/weft/daemon/settings"
	"github.com/weft-hpc/weft/drivers/cxi"
	"github.com/weft-hpc/weft/hook/rundir"
	"github.com/weft-hpc/weft/host"
	"github.com/weft-hpc/weft/identity"
	flux "github.com/weft-hpc/weft/plugins/flux/install"
	pbs "github.com/weft-hpc/weft/plugins/pbs/install"
	slurm "github.com/weft-hpc/weft/plugins/slurm/install"
	"github.com/weft-hpc/weft/plugins/slurm/stack"
)

// place is a folder with files that every caller of Trust, Secret and Owned believes.
type place string

func (p place) at(name string) string { return filepath.Join(string(p), name) }

func newPlace(t *testing.T) place {
	p := place(t.TempDir())
	now := time.Now()
	err := os.Chmod(string(p), 0o755)
	for _, folder := range []string{"run", "bin", "hooks", "etc", "policy", "tls"} {
		err = errors.Join(err, os.Mkdir(p.at(folder), 0o755))
	}
	for _, name := range []string{"bin/program", "etc/slurm.conf", "etc/config.hcl"} {
		err = errors.Join(err, os.WriteFile(p.at(name), nil, 0o755))
	}
	err = errors.Join(err, os.WriteFile(p.at("etc/password"), []byte("secret"), 0o600), os.Mkdir(p.at("etcd"), 0o755))
	err = errors.Join(err, identity.Init(p.at("tls"), []string{"localhost"}, now))
	err = errors.Join(err, identity.IssueNode(p.at("tls"), "n1", now))
	for from, to := range map[string]string{"ca.crt": "ca.crt", "n1.crt": "client.crt", "n1.key": "client.key"} {
		text, bad := os.ReadFile(p.at("tls/" + from))
		err = errors.Join(err, bad, os.WriteFile(p.at("etcd/"+to), text, 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (p place) plugin() error { return host.Program{Path: p.at("bin/program")}.Check() }

func (p place) site() *settings.Site {
	c := &config.Config{File: p.at("etc/config.hcl"), Policy: p.at("policy")}
	c.Agent.Dir, c.Agent.TLS = p.at("run"), p.at("tls")
	c.Schedulers = []config.Plugin{{Name: "site", Command: []string{p.at("bin/program")}}}
	return &settings.Site{Config: c}
}

func (p place) start() (err error) {
	for _, f := range p.site().Distrusted(config.OfAgent) {
		err = errors.Join(err, fmt.Errorf("%s: %s", f.File, f.Summary))
	}
	return err
}

func (p place) doctor() error {
	found, err := settings.Files{Site: p.site, Of: config.OfAgent}.Check(context.Background())
	for _, f := range found {
		err = errors.Join(err, errors.New(f.What))
	}
	return err
}

func (p place) tls() error {
	_, err := identity.Open(p.at("tls"), "n1")
	return err
}

func (p place) issue() error { return identity.IssueNode(p.at("tls"), "n2", time.Now()) }

func (p place) pbs() error {
	plan, err := pbs.New(pbs.Options{Dir: p.at("hooks"), Scheduler: "pbs", Hook: p.at("bin/program")}, nil)
	if err != nil {
		return err
	}
	return fmt.Errorf("%+v", plan.Findings)
}

func (p place) slurm() error {
	o := slurm.Options{Conf: p.at("etc/slurm.conf"), Hooks: p.at("hooks"), Hook: p.at("bin/program"), Scheduler: "slurm"}
	plan, err := slurm.New(o)
	if err != nil {
		return err
	}
	return fmt.Errorf("%+v", plan.Findings)
}

func (p place) spank() error {
	_, err := stack.Built(p.at("bin/program"))
	return err
}

func (p place) flux() (err error) {
	o := flux.Options{
		System: p.at("flux/system"), Shell: p.at("flux/shell/lua.d"), Scheduler: "flux", Hook: p.at("bin/program"),
		URI: "local:///run/flux/local", Wait: time.Minute, Try: time.Minute,
	}
	if _, err := os.Stat(o.System); err != nil {
		plan, err := flux.New(o)
		if err = errors.Join(err, plan.Write()); err != nil {
			return err
		}
	}
	at := flux.Place{Initrc: p.at("flux/shell/initrc.lua"), URI: o.URI, Labels: []string{"flux"}}
	at.Phases = []string{"prolog"}
	for _, f := range flux.Look(at) {
		err = errors.Join(err, errors.New(f.Evidence))
	}
	return err
}

func (p place) command() error {
	_, err := cli.LoadOwn(p.at("etc/config.hcl"))
	return err
}

func (p place) nics() error {
	d, values := cxi.New(), core.Values{"library": p.at("bin/program")}
	if err := d.Configure(context.Background(), values); err != nil {
		return err
	}
	_, err := d.Devices(context.Background())
	return err
}

func (p place) etcd() error {
	_, err := election.Dial(config.Etcd{
		Endpoints: []string{"https://127.0.0.1:1"}, TLS: p.at("etcd"), User: "weft", PasswordFile: p.at("etc/password"),
	})
	return err
}

func (p place) hook() error { return rundir.Dir(p.at("run")).Check() }

// TestEachCallerRefuses lets another user change a file or a folder. Each caller must say so then, and not before. A
// source file with a new call needs a row.
func TestEachCallerRefuses(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root's daemons believe nobody else")
	}
	p, covered := newPlace(t), map[string]bool{}
	_ = p.flux() // installs the files that rows change
	for _, tt := range []struct {
		in, spoil string
		mode      fs.FileMode
		ask       func() error
	}{
		{"host/program.go", "bin/program", 0o775, p.plugin},
		{"host/program.go", "bin", 0o775, p.plugin},
		{"host/program.go", ".", 0o757, p.plugin},
		{"daemon/settings/trust.go", "etc", 0o775, p.start},
		{"daemon/settings/trust.go", "tls/n1.key", 0o640, p.start},
		{"daemon/settings/doctor.go", "bin/program", 0o757, p.doctor},
		{"daemon/settings/doctor.go", "bin", 0o775, p.doctor},
		{"daemon/settings/doctor.go", "policy", 0o775, p.doctor},
		{"identity/source.go", "tls/n1.key", 0o640, p.tls},
		{"identity/authority.go", "tls/ca.key", 0o604, p.issue},
		{"plugins/pbs/install/plan.go", "bin", 0o775, p.pbs},
		{"plugins/pbs/install/plan.go", "hooks", 0o775, p.pbs},
		{"plugins/slurm/install/plan.go", "bin", 0o775, p.slurm},
		{"plugins/slurm/install/plan.go", "hooks", 0o775, p.slurm},
		{"plugins/slurm/stack/object.go", "bin/program", 0o775, p.spank},
		{"plugins/slurm/stack/object.go", "bin", 0o775, p.spank},
		{"plugins/flux/install/look.go", "flux/system/prolog.d/weft", 0o775, p.flux},
		{"plugins/flux/install/look.go", "flux/system/prolog.d", 0o775, p.flux},
		{"hook/rundir/trust.go", "run", 0o775, p.hook},
		{"cmd/weft/cli/config.go", "etc/config.hcl", 0o775, p.command},
		{"cmd/weft/cli/config.go", "etc", 0o775, p.command},
		{"drivers/cxi/library.go", "bin/program", 0o775, p.nics},
		{"drivers/cxi/library.go", "bin", 0o775, p.nics},
		{"daemon/election/user.go", "etc/password", 0o640, p.etcd},
		{"daemon/election/client.go", "etcd/client.key", 0o640, p.etcd},
	} {
		covered[tt.in] = true
		path := p.at(tt.spoil)
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		says := func() bool {
			err := tt.ask()
			text := fmt.Sprint(err)
			return strings.Contains(text, path+": ") && strings.Contains(text, "others than its owner can")
		}
		if says() {
			t.Errorf("%s refuses %s as it should be", tt.in, tt.spoil)
		}
		if err := os.Chmod(path, tt.mode); err != nil {
			t.Fatal(err)
		}
		if !says() {
			t.Errorf("%s believes %s with mode %#o", tt.in, tt.spoil, tt.mode)
		}
		if err := os.Chmod(path, info.Mode()); err != nil {
			t.Fatal(err)
		}
	}
	want := callers(t, "file.Trust(", "file.Secret(", "file.Owned(")
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(covered))); diff != "" {
		t.Errorf("the rows are not of the callers: -callers +rows\n%s", diff)
	}
}

// callers are the source files of the repository that have one of these calls.
func callers(t *testing.T, calls ...string) (out []string) {
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, call := range calls {
			if bytes.Contains(text, []byte(call)) {
				out = append(out, strings.TrimPrefix(path, "../"))
				break
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
