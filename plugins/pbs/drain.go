package pbs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/weft-hpc/weft/command"
	"github.com/weft-hpc/weft/core"
)

// vnode is what pbsnodes tells of one.
type vnode struct {
	name           string
	state, comment string
	host, sharing  string
	cores          int
}

func (n vnode) offline() bool { return strings.Contains(n.state, "offline") }

func (n vnode) ours() bool { return strings.HasPrefix(n.comment, core.DrainPrefix) }

// others reports whether an administrator has it offline.
func (n vnode) others() bool { return n.offline() && !n.ours() }

// maxComment is what pbsnodes -C keeps of a comment, in bytes.
const maxComment = 79

// Drain marks a node's vnodes offline, but for those that an administrator has offline already.
func (p *Plugin) Drain(ctx context.Context, node, reason string) error {
	vnodes, err := p.vnodes(ctx, node)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(vnodes, vnode.others) {
		return p.command(ctx, "pbsnodes", "-o", "-C", remark(reason), node)
	}
	// pbsnodes marks all vnodes of a host; qmgr takes some, and a comment without quotation marks in it.
	text := strings.ReplaceAll(remark(reason), `"`, "'")
	return p.set(ctx, names(vnodes, func(n vnode) bool { return !n.others() }), "state += offline", text)
}

// set changes the state and the comment of vnodes.
func (p *Plugin) set(ctx context.Context, vnodes []string, state, comment string) error {
	if len(vnodes) == 0 {
		return nil
	}
	directive := fmt.Sprintf("set node %s %s, comment = \"%s\"", strings.Join(vnodes, ","), state, comment)
	return p.command(ctx, "qmgr", "-c", directive)
}

func names(vnodes []vnode, is func(vnode) bool) (all []string) {
	for _, n := range vnodes {
		if is(n) {
			all = append(all, n.name)
		}
	}
	return all
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

// Resume takes those vnodes of a node back into service that Drain marked, and no other.
func (p *Plugin) Resume(ctx context.Context, node string) error {
	vnodes, err := p.vnodes(ctx, node)
	if err != nil {
		return err
	}
	own := names(vnodes, func(n vnode) bool { return n.offline() && n.ours() })
	if len(own) > 0 && !slices.ContainsFunc(vnodes, vnode.others) {
		return p.command(ctx, "pbsnodes", "-r", "-C", "", node)
	}
	return p.set(ctx, own, "state -= offline", "")
}

// Drained lists the hosts whose vnodes are all offline, for Weft's reason where one of them is. PBS does not tell who
// took them offline, or when. The question is for all vnodes: `pbsnodes -l` leaves a host out whose vnodes differ in
// state, and gives it the comment of the others where one has none (pbsD_stathost.c in 23.06.06).
func (p *Plugin) Drained(ctx context.Context) (all []core.Drained, err error) {
	ctx, cancel := context.WithTimeout(ctx, p.settings.patient)
	defer cancel()
	text, err := p.run(ctx, "pbsnodes", "-a", "-v")
	hosts := map[string][]vnode{}
	for _, n := range parseVnodes(text) {
		host := cmp.Or(n.host, n.name)
		hosts[host] = append(hosts[host], n)
	}
	for _, host := range slices.Sorted(maps.Keys(hosts)) {
		on := hosts[host]
		if !slices.ContainsFunc(on, func(n vnode) bool { return !n.offline() }) {
			why := on[max(slices.IndexFunc(on, vnode.ours), 0)].comment
			all = append(all, core.Drained{Hosts: host, Drain: core.Drain{Reason: why}})
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
			all = append(all, vnode{name: strings.TrimSpace(line)})
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
