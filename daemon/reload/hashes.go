package reload

import (
	"encoding/json"
	"os"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/daemon/settings"
	"github.com/weft-hpc/weft/file"
)

// Hashes name what a daemon has in force.
type Hashes struct {
	Config string `json:"config"` // of config.hcl's text
	Policy string `json:"policy"`
}

func hashesOf(site *settings.Site) Hashes { return Hashes{site.Config.Hash, site.Policy.Hash()} }

// Start audits what the daemon starts with. A start puts edited files in force as a reload does; Kept tells what was in
// force before, unless this host has booted since.
func (r *Reloader) Start() {
	var before Hashes
	if text, err := file.Read(r.Kept, 1<<10); err == nil {
		_ = json.Unmarshal(text, &before) // a spoiled file tells nothing
	}
	now := hashesOf(r.Site())
	r.Audit.Info("start", audited([]any{core.LogUID, os.Getuid(), core.LogPID, os.Getpid()}, before, now)...)
	r.keep(now)
}

// audited adds to a line of the audit what was in force before and what is now.
func audited(line []any, before, now Hashes) []any {
	return append(line, core.LogConfig, now.Config, core.LogConfigBefore, before.Config,
		core.LogPolicy, now.Policy, core.LogPolicyBefore, before.Policy)
}

// keep leaves for the next start what is in force.
func (r *Reloader) keep(now Hashes) {
	text, err := json.Marshal(now)
	if err == nil {
		err = file.Replace(r.Kept, text, file.How{Mode: 0o600, Volatile: true})
	}
	if err != nil {
		r.Log.Warn("the audit of the next start cannot tell what was in force before it", core.LogError, err)
	}
}
