package sdk

import (
	"encoding/json"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime/debug"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/rpc"
)

// about is what a plugin says of itself.
func about(value any, options []Option) rpc.Info {
	who := identity{filepath.Base(os.Args[0]), "unknown"}
	if build, ok := debug.ReadBuildInfo(); ok {
		if build.Main.Path != "" {
			who.name = path.Base(build.Main.Path)
		}
		if build.Main.Version != "" {
			who.version = build.Main.Version
		}
	}
	for _, o := range options {
		o(&who)
	}
	info := rpc.Info{Name: who.name, Version: who.version, Abilities: core.Abilities(value)}
	if _, ok := value.(core.Scheduler); ok {
		info.Kind, info.Services = "scheduler", append(info.Services, rpc.SchedulerService)
	}
	if _, ok := value.(core.Hooks); ok {
		info.Kind, info.Services = "scheduler", append(info.Services, rpc.HooksService)
	}
	if _, ok := value.(core.FabricBackend); ok {
		info.Kind, info.Services = "fabric", append(info.Services, rpc.FabricService)
	}
	if _, ok := value.(core.NICDriver); ok {
		info.Kind, info.Services = "driver", append(info.Services, rpc.NICService)
	}
	return info
}

// described is what InfoFlag prints.
type described struct {
	Name      string         `json:"name"`
	Version   string         `json:"version"`
	Kind      string         `json:"kind"`
	Services  []string       `json:"services"`
	Abilities []core.Ability `json:"abilities,omitempty"`
	Protocol  int            `json:"protocol"`
	Block     []entry        `json:"block,omitempty"`
}

type entry struct {
	Name     string  `json:"name"`
	Kind     string  `json:"kind"`
	Required bool    `json:"required,omitempty"`
	Default  any     `json:"default,omitempty"`
	Doc      string  `json:"doc,omitempty"`
	Labels   int     `json:"labels,omitempty"`
	Block    []entry `json:"block,omitempty"`
}

func describe(w io.Writer, info rpc.Info, value any) error {
	d := described{Name: info.Name, Version: info.Version, Kind: info.Kind, Services: info.Services, Abilities: info.Abilities, Protocol: Protocol}
	if c, ok := value.(core.Configurable); ok {
		d.Block = entries(c.Schema())
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(d)
}

func entries(s core.Schema) []entry {
	kinds := map[core.Kind]string{
		core.KindString: "string", core.KindInt: "number", core.KindBool: "bool", core.KindDuration: "duration", core.KindStrings: "list of strings",
		core.KindBlocks: "block",
	}
	var out []entry
	for _, f := range s.Fields {
		e := entry{Name: f.Name, Kind: kinds[f.Kind], Required: f.Required, Default: f.Default, Doc: f.Doc, Labels: f.Labels, Block: entries(f.Block)}
		if d, ok := f.Default.(interface{ String() string }); ok {
			e.Default = d.String()
		}
		out = append(out, e)
	}
	return out
}
