package config

import (
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/weft-hpc/weft/core/hostlist"
	"github.com/weft-hpc/weft/hclfile"
)

const (
	kindScheduler = "scheduler"
	kindDriver    = "driver"
)

// reserved are the attributes of a plugin's block that are ours.
var reserved = map[string][]string{
	kindScheduler: {"in_process", "command", "sha256", "auto_mtls", "at", "alias"},
	kindDriver:    {"in_process", "command", "sha256", "auto_mtls"},
}

// Plugin is a scheduler or driver block. What is not named here is the plugin's own: see Decode.
type Plugin struct {
	Kind      string   // scheduler or driver
	Type      string   // which adapter or driver: slurm, sim
	Name      string   // the instance; for a driver its Type
	InProcess bool     // run it inside the daemon instead of as a process
	Command   []string // the program of a plugin that is not built in, with its arguments
	SHA256    string   // of Command's program, 64 hex digits; empty: it is not looked at
	AutoMTLS  bool     // encrypt between daemon and plugin, with keys made for each start
	At        string   // scheduler: the node whose agent runs the scheduler's half; empty: the server
	Alias     []Alias  // scheduler: its names of nodes

	file  *hclfile.File
	block *hclsyntax.Block
}

// Alias maps a scheduler's names of nodes to Weft's, one by one: both are hostlists of the same length.
type Alias struct {
	Theirs string
	Ours   string
}

// NoType is the finding for a Type that is not among those known.
func (p Plugin) NoType(known []string) hclfile.Finding {
	what := map[string]string{kindScheduler: "scheduler adapter", kindDriver: "driver"}[p.Kind]
	finding := hclfile.Finding{Severity: hclfile.Error, Summary: fmt.Sprintf("there is no %s %q", what, p.Type)}
	if p.block != nil && len(p.block.LabelRanges) > 0 {
		finding = p.file.At(hclfile.Error, p.block.LabelRanges[0], finding.Summary, "")
	}
	if finding.Suggestion = hclfile.Near(p.Type, known); finding.Suggestion == "" {
		finding.Detail = fmt.Sprintf("There are: %s. A plugin that is not built in needs command = [\"/path/of/it\"].", list(known))
	}
	return finding
}

// Names gives Weft's name for each name of a node that the scheduler's aliases have. What is not in it has the same name on both sides.
func (p Plugin) Names() map[string]string {
	names := map[string]string{}
	for _, a := range p.Alias {
		theirs, err := hostlist.Parse(a.Theirs)
		ours, bad := hostlist.Parse(a.Ours)
		if err != nil || bad != nil {
			continue // Load refused it
		}
		to := slices.Collect(ours.Expand())
		for i, name := range slices.Collect(theirs.Expand()) {
			if i < len(to) {
				names[name] = to[i]
			}
		}
	}
	return names
}
