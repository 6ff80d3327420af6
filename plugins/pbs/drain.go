package pbs

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/weft-hpc/weft/core"
)

// pbsNodes is what `pbsnodes -F json` says.
type pbsNodes struct {
	Nodes map[string]struct {
		State   string          `json:"state"`
		Comment json.RawMessage `json:"comment"`
	} `json:"nodes"`
}

// maxComment is what pbsnodes -C keeps of a comment, in bytes.
const maxComment = 79

// Drain marks a node's vnodes offline. A reason that somebody else gave for it stays, and so do vnodes that an administrator has taken out already.
func (p *Plugin) Drain(ctx context.Context, node, reason string) error {
	if err := core.CheckName("node", node, core.MaxNodeName); err != nil {
		return err
	}
	asked, cancel := context.WithTimeout(ctx, p.settings.patient)
	defer cancel()
	text, err := p.run(asked, "pbsnodes", "-F", "json", "-H", node)
	if err != nil {
		return away(err)
	}
	var all pbsNodes
	if err := json.Unmarshal(text, &all); err != nil {
		return core.Errorf(core.SchedulerAway, "pbsnodes: node %s: %w", node, err)
	}
	if len(all.Nodes) == 0 {
		return core.Errorf(core.NotSupported, "node %s: PBS complex %s has no host of that name", node, p.name)
	}
	for _, n := range all.Nodes {
		comment, _ := scalar(n.Comment)
		if strings.Contains(n.State, "offline") && comment != "" && !strings.HasPrefix(comment, "weft: ") {
			return nil
		}
	}
	comment := "weft: " + core.OneLine(reason, "its NICs are at fault")
	if len(comment) > maxComment {
		comment = strings.ToValidUTF8(comment[:maxComment-len("…")], "") + "…"
	}
	return p.command(ctx, "pbsnodes", "-o", "-C", comment, node)
}
