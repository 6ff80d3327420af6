package pbs

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/weft-hpc/weft/command"
	"github.com/weft-hpc/weft/core"
)

// pbsNodes is what `pbsnodes -F json` says.
type pbsNodes struct {
	Nodes map[string]pbsNode `json:"nodes"`
}

// pbsNode is a vnode.
type pbsNode struct {
	State   string          `json:"state"`
	Comment json.RawMessage `json:"comment"`
}

func (n pbsNode) offline() bool { return strings.Contains(n.State, "offline") }

func (n pbsNode) ours() bool {
	comment, _ := scalar(n.Comment)
	return strings.HasPrefix(comment, core.DrainPrefix)
}

// maxComment is what pbsnodes -C keeps of a comment, in bytes.
const maxComment = 79

// Drain marks a node's vnodes offline. A reason that somebody else gave for it stays, and so do vnodes that an administrator has taken out already.
func (p *Plugin) Drain(ctx context.Context, node, reason string) error {
	vnodes, err := p.vnodes(ctx, node)
	if err != nil {
		return err
	}
	for _, n := range vnodes {
		if comment, _ := scalar(n.Comment); n.offline() && comment != "" && !n.ours() {
			return nil
		}
	}
	comment := core.DrainPrefix + core.OneLine(reason, "its NICs are at fault")
	if len(comment) > maxComment {
		comment = strings.ToValidUTF8(comment[:maxComment-len("…")], "") + "…"
	}
	return p.command(ctx, "pbsnodes", "-o", "-C", comment, node)
}

// Resume takes a node back into service whose offline vnodes are all those that Drain marked, and no other.
func (p *Plugin) Resume(ctx context.Context, node string) error {
	vnodes, err := p.vnodes(ctx, node)
	if err != nil {
		return err
	}
	offline := 0
	for _, n := range vnodes {
		if n.offline() && !n.ours() {
			return nil
		}
		if n.offline() {
			offline++
		}
	}
	if offline == 0 {
		return nil
	}
	return p.command(ctx, "pbsnodes", "-r", "-C", "", node)
}

// Down reports by nil that every vnode of the node is down.
func (p *Plugin) Down(ctx context.Context, node string) error {
	vnodes, err := p.vnodes(ctx, node)
	if err != nil {
		return err
	}
	for _, n := range vnodes {
		if !slices.Contains(strings.Split(n.State, ","), "down") {
			return core.NotDown(node, p.name)
		}
	}
	return nil
}

// vnodes are those of a host.
func (p *Plugin) vnodes(ctx context.Context, node string) (map[string]pbsNode, error) {
	if err := core.CheckName("node", node, core.MaxNodeName); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, p.settings.patient)
	defer cancel()
	text, err := p.run(ctx, "pbsnodes", "-F", "json", "-H", node)
	if err != nil {
		return nil, command.Away(err)
	}
	var all pbsNodes
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, core.Errorf(core.SchedulerAway, "pbsnodes: node %s: %w", node, err)
	}
	if len(all.Nodes) == 0 {
		return nil, core.Errorf(core.NotSupported, "node %s: PBS complex %s has no host of that name", node, p.name)
	}
	return all.Nodes, nil
}
