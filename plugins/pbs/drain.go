package pbs

import (
	"context"
	"errors"
	"slices"
	"strings"
	"unicode"

	"github.com/weft-hpc/weft/command"
	"github.com/weft-hpc/weft/core"
)

// vnode is what pbsnodes tells of one.
type vnode struct {
	state, comment string
	host, sharing  string
	cores          int
}

func (n vnode) offline() bool { return strings.Contains(n.state, "offline") }

func (n vnode) ours() bool { return strings.HasPrefix(n.comment, core.DrainPrefix) }

// maxComment is what pbsnodes -C keeps of a comment, in bytes.
const maxComment = 79

// Drain marks a node's vnodes offline. A reason that somebody else gave for it stays, and so do vnodes that an administrator has taken out already.
func (p *Plugin) Drain(ctx context.Context, node, reason string) error {
	vnodes, err := p.vnodes(ctx, node)
	if err != nil {
		return err
	}
	for _, n := range vnodes {
		if n.offline() && !n.ours() {
			return nil
		}
	}
	return p.command(ctx, "pbsnodes", "-o", "-C", remark(reason), node)
}

// remark is the comment for a reason: what PBS keeps of it, in ASCII, since PBS shows another byte as something else.
func remark(reason string) string {
	text := core.DrainPrefix + core.OneLine(reason, "its NICs are at fault")
	text = strings.Map(func(r rune) rune {
		if r > unicode.MaxASCII {
			return '?'
		}
		return r
	}, text)
	if len(text) > maxComment {
		text = text[:maxComment-len("...")] + "..."
	}
	return text
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

// Drained lists the hosts whose vnodes are all offline. PBS does not tell who took them offline, or when.
func (p *Plugin) Drained(ctx context.Context) (all []core.Drained, err error) {
	ctx, cancel := context.WithTimeout(ctx, p.settings.patient)
	defer cancel()
	text, err := p.run(ctx, "pbsnodes", "-l")
	for line := range strings.Lines(string(text)) {
		host, rest, _ := strings.Cut(line, " ")
		state, comment, _ := strings.Cut(strings.TrimLeft(rest, " "), " ")
		if n := (vnode{state: state, comment: strings.TrimSpace(comment)}); n.offline() {
			all = append(all, core.Drained{Hosts: host, Drain: core.Drain{Reason: n.comment}})
		}
	}
	return all, command.Away(err)
}

// Down reports by nil that every vnode of the node is down.
func (p *Plugin) Down(ctx context.Context, node string) error {
	vnodes, err := p.vnodes(ctx, node)
	if err != nil {
		return err
	}
	for _, n := range vnodes {
		if !slices.Contains(strings.Split(n.state, ","), "down") {
			return core.NotDown(node, p.name)
		}
	}
	return nil
}

// vnodes are those of a host. The question is for pbsnodes' plain format: its JSON is none where a comment has a byte
// that is not ASCII, which PBS shows as ^ and the byte plus 64 (show_nonprint_chars, read and seen in 23.06.06).
func (p *Plugin) vnodes(ctx context.Context, node string) ([]vnode, error) {
	if err := core.CheckName("node", node, core.MaxNodeName); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, p.settings.patient)
	defer cancel()
	text, err := p.run(ctx, "pbsnodes", "-H", node)
	if f, ok := errors.AsType[*command.Failure](err); ok && strings.Contains(f.Says, "Unknown node") {
		return nil, core.Errorf(core.NotSupported, "node %s: PBS complex %s has no host of that name", node, p.name)
	}
	all := parseVnodes(text)
	if err == nil && len(all) == 0 {
		err = core.Errorf(core.SchedulerAway, "pbsnodes: node %s: its answer has no vnode", node)
	}
	return all, command.Away(err)
}

// parseVnodes reads blocks of a name and of indented lines "ATTRIBUTE = VALUE", which empty lines end.
func parseVnodes(text []byte) (all []vnode) {
	inside := false
	for line := range strings.Lines(string(text)) {
		if !inside && line != "\n" {
			all = append(all, vnode{})
		}
		if inside = line != "\n"; !inside {
			continue
		}
		n := &all[len(all)-1]
		switch name, value, _ := strings.Cut(strings.TrimSpace(line), " = "); name {
		case "state":
			n.state = value
		case "comment":
			n.comment = value
		case "resources_available.host":
			n.host = value
		case "resources_available.ncpus":
			n.cores = amount(value)
		case "sharing":
			n.sharing = value
		}
	}
	return all
}
