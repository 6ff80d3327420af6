package cxi

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/weft-hpc/weft/core"
)

// settings are the driver's block.
type settings struct {
	library   string
	sys       sysfs
	processes int64 // 0: the node's CPUs
}

// maxProcesses bounds `processes`: what is above all RGIDs, shared by 8, has no effect.
const maxProcesses = 1 << 16

// Schema describes the driver's block in config.hcl.
func (d *Driver) Schema() core.Schema {
	return core.Schema{Fields: []core.Field{
		{Name: "library", Kind: core.KindString, Default: "libcxi.so.1", Doc: "The file of libcxi: an absolute path, or a name that the system's loader looks up."},
		{Name: "sysfs", Kind: core.KindString, Default: "/sys", Doc: "Where sysfs is, an absolute path."},
		{Name: "processes", Kind: core.KindInt, Default: int64(0), Doc: "How many processes of a job open the node's NICs at most, 0 to 65536; 0 is the number of its CPUs. Above the resource groups (RGIDs) that its NICs have free, processes share them."},
	}}
}

// Configure sets the driver up. Nothing is loaded before the first call, so that a node whose host software comes later needs no restart.
func (d *Driver) Configure(_ context.Context, values core.Values) error {
	s := defaults
	bad := func(field, format string, args ...any) error {
		return &core.PathError{Path: []string{field}, Err: core.Errorf(core.BadConfig, field+": "+format, args...)}
	}
	for name, value := range values {
		ok := true
		switch name {
		case "library":
			if s.library, ok = value.(string); ok && (s.library == "" || strings.Contains(s.library, "/") && !filepath.IsAbs(s.library)) {
				return bad(name, "%q: it must be an absolute path or a name without a slash", core.Clip(s.library))
			}
		case "sysfs":
			var dir string
			if dir, ok = value.(string); ok && !filepath.IsAbs(dir) {
				return bad(name, "%q: it must be an absolute path", core.Clip(dir))
			}
			s.sys = sysfs(dir)
		case "processes":
			if s.processes, ok = value.(int64); ok && (s.processes < 0 || s.processes > maxProcesses) {
				return bad(name, "%d: it must be 0 to %d", s.processes, maxProcesses)
			}
		default:
			return bad(name, "the driver has no such setting")
		}
		if !ok {
			return bad(name, "%v: it is of the wrong kind", value)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.settings, d.known = s, map[key]traits{}
	return nil
}

var defaults = settings{library: "libcxi.so.1", sys: "/sys"}
