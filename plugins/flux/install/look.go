package install

import (
	"path/filepath"
	"slices"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/file"
)

// Place says where a node's Flux and the shells of its jobs look for their files.
type Place struct {
	Initrc string   // of the job shell: the broker's attribute conf.shell_initrc
	URI    string   // the instance's socket, as the scheduler's block has it
	Labels []string // by which hooks may name the instance
	Phases []string // that the IMP runs by flux-run-system-scripts
	// Housekeeping says that Flux runs one after each job: it fails by the scriptlet of an older release.
	Housekeeping bool
}

// Initrc is where flux-core's packages have it.
const Initrc = "/etc/flux/shell/initrc.lua"

// system is the folder of the scriptlets. flux-core builds it and initrc.lua into one sysconfdir (0.88: flux_sysconfdir
// of etc/flux-run-system-scripts.in, and shell_initrc of src/common/libflux/conf_builtin.c).
func (p Place) system() string { return filepath.Join(filepath.Dir(filepath.Dir(p.Initrc)), "system") }

// trouble follows where a part does not work.
type trouble struct {
	severity core.Severity
	what     string
}

func (t trouble) of(evidence, remedy string) []core.Finding {
	return []core.Finding{{Severity: t.severity, What: t.what, Evidence: evidence, Remedy: remedy}}
}

// follows is the trouble with a phase.
func follows(phase string) trouble {
	t := trouble{core.Critical, "no job gets a VNI, and each fails"}
	if phase == "epilog" {
		t = trouble{core.Warning, "services stay until the server learns of the job's end"}
	}
	t.what = "Flux's " + phase + " does not run Weft on this node: " + t.what
	return t
}

var (
	refused = trouble{core.Critical, "flux-imp refuses to run a hook, and Flux drains this node for it"}
	late    = trouble{core.Critical, "a hook of an older Weft fails here after each job, and Flux drains this node for it"}
	shell   = trouble{
		core.Critical,
		"the job shell gives jobs no network on this node: they end at once, or run without their variables",
	}
)

// again is the remedy for a file; with are options.
func again(with string) string {
	return "run `weft init flux --write" + with + "` here, with the options of the other nodes"
}

// Look finds what keeps jobs of this node from Weft: files that are absent, that Flux passes over, or that are of
// another release. None: they are as New writes them.
func Look(p Place) []core.Finding {
	var all []core.Finding
	for _, phase := range p.Phases {
		all = append(all, p.phase(phase)...)
	}
	if f, ok := ours(filepath.Join(p.system(), outdated, "*"), epilogText); ok && p.Housekeeping && file.Runs(f.path) {
		all = append(all, late.of(f.path+": this release has no such hook", again("")+", which removes it")...)
	}
	return append(all, p.shell()...)
}

// phase judges a phase's scriptlet, as flux-run-system-scripts finds it: a file in place of the folder comes first, and
// only executable files count (0.88).
func (p Place) phase(phase string) []core.Finding {
	t, instead := follows(phase), filepath.Join(p.system(), phase)
	imp := filepath.Join(filepath.Dir(p.system()), "imp", "conf.d")
	tables := []string{"[run." + phase + "]", "run." + phase + ".", `[run."` + phase}
	if there(imp) && !mentions(filepath.Join(imp, "*.toml"), tables...) {
		return refused.of(imp+": no file there has a table "+tables[0],
			"bring the table there, as flux-config-imp(5) shows it")
	}
	if file.Runs(instead) && !mentions(instead, "weft", phase+".d") {
		return t.of(instead+": Flux runs this file in place of the folder "+phase+".d", "move it into the folder")
	}
	f, ok := ours(filepath.Join(instead+".d", "*"), template(phase))
	switch {
	case !ok:
		return t.of(instead+".d: no file there is of `weft init flux`", again(""))
	case !file.Runs(f.path):
		return t.of(f.path+": it is not executable, so Flux passes over it", "chmod 755 "+f.path)
	}
	return p.judge(f, t)
}

// shell judges the plugin of the job shell, which reads lua.d next to its initrc.lua, as the job's user.
func (p Place) shell() []core.Finding {
	folder := filepath.Join(filepath.Dir(p.Initrc), "lua.d")
	f, ok := ours(filepath.Join(folder, "*.lua"), luaText)
	switch {
	case !ok:
		return shell.of(folder+": no file there is of `weft init flux`", again(""))
	case !mentions(p.Initrc, "shell.source_rcpath (", "shell.source_rcpath(", filepath.Base(f.path)):
		return shell.of(p.Initrc+": it does not read lua.d", "bring its line `shell.source_rcpath (\"*.lua\")` back")
	case !everyone(f.path):
		return shell.of(f.path+": users cannot read it", "chmod 644 "+f.path+", and 755 its folders")
	}
	return p.judge(f, shell)
}

// judge compares the values in a file with those of this node.
func (p Place) judge(f piece, t trouble) []core.Finding {
	if d := file.Trust(f.path); d != nil {
		t = trouble{core.Critical, "others than root can change a file of `weft init flux`, and could give it any content"}
		return t.of(d.Error(), d.Remedy)
	}
	switch {
	case f.says == nil && f.edited:
		t = trouble{core.Warning, "a file of `weft init flux` was edited by hand: the doctor cannot tell whether jobs run"}
		return t.of(f.path, again(""))
	case f.says == nil:
		t = trouble{core.Warning, "a file of `weft init flux` is of another release of Weft"}
		return t.of(f.path, again(""))
	case !file.Runs(f.says["HOOK"]):
		return t.of(f.path+" runs "+f.says["HOOK"]+": there is no such program on this node",
			"install weft-hook at that path, or "+again(" --weft-hook PATH"))
	}
	if by, ok := f.says["SCHEDULER"]; ok && !slices.Contains(p.Labels, by) {
		return t.of(f.path+" names scheduler "+by+", and config.hcl "+p.Labels[0], again(" --scheduler "+p.Labels[0]))
	}
	if at, ok := f.says["URI"]; ok && at != p.URI {
		return t.of(f.path+" serves the broker at "+at+" only, and Weft asks the one at "+p.URI, again(" --uri "+p.URI))
	}
	return nil
}
