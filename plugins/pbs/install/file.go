package install

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"strings"

	"github.com/weft-hpc/weft/plan"
)

// Script is the hook file's text, without its seal.
//
//go:embed weft_hook.py
var Script string

// Names of the files.
const (
	hookFile   = "weft_hook.py"
	configFile = "weft.json"
	linesFile  = "install.qmgr"
)

// Config is what the hook file is told, as PBS's hook configuration.
type Config struct {
	Hook      string   `json:"weft_hook"`
	Scheduler string   `json:"scheduler"`
	Dir       string   `json:"dir,omitempty"`        // the agent's run directory; empty: weft-hook's default
	ServerDir string   `json:"server_dir,omitempty"` // where the Weft server listens for hooks
	Room      bool     `json:"room,omitempty"`       // left out, as releases did that had none: their seals still hold
	Resources []string `json:"resources"`
	Seal      string   `json:"seal"`
}

func (c Config) text() []byte {
	plain := func(c Config) string {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		_ = e.Encode(c) // strings alone
		return b.String()
	}
	c.Seal = ""
	c.Seal = plan.Sum(plain(c))
	return []byte(plain(c))
}

// isSealedConfig is plan.IsSealed for a configuration, since JSON has no comments.
func isSealedConfig(text []byte) (ours, intact bool) {
	var c Config
	if json.Unmarshal(text, &c) != nil || c.Seal == "" {
		return false, false
	}
	return true, bytes.Equal(c.text(), text)
}

// files are what an installation has. A person reads the configuration alone.
func (o Options) files() []plan.Change {
	c := Config{Hook: o.Hook, Scheduler: o.Scheduler, Dir: o.Agent, ServerDir: o.Server, Room: o.Room, Resources: o.Resources}
	lines := "# For qmgr, as root on pbs_server's host: qmgr < " + o.path(linesFile) + "\n" +
		strings.Join(o.lines(nil), "\n") + "\n"
	return []plan.Change{
		{Path: o.path(hookFile), Text: plan.Sealed("#", Script), Mode: 0o644, Brief: true},
		{Path: o.path(configFile), Text: c.text(), Mode: 0o644},
		{Path: o.path(linesFile), Text: plan.Sealed("#", lines), Mode: 0o644, Brief: true},
	}
}
