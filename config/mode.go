package config

import (
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/weft-hpc/weft/core/hostlist"
	"github.com/weft-hpc/weft/hclfile"
)

// The values of a scheduler's mode.
const (
	modeEnforce = "enforce" // Weft serves its jobs
	modeObserve = "observe" // Weft only looks at them
)

const blockEnforce = "enforce"

// reservedBlocks are the blocks in a plugin's block that are ours.
var reservedBlocks = map[string]map[string]hclfile.BlockShape{kindScheduler: {blockEnforce: {Once: true}}}

// MaxQueues bounds the queues of an Enforce.
const MaxQueues = 256

// Enforce has the jobs of a scheduler in mode observe that Weft serves: those that are wholly within it.
type Enforce struct {
	Nodes  string   // hostlist; empty: every node
	Queues []string // empty: every queue
}

// Observes reports whether p is a scheduler of which no job that has a node is served.
func (p Plugin) Observes(node string) bool { return p.Observe && !p.Enforce.on(node) }

// on reports whether a job that has the node may be within e.
func (e *Enforce) on(node string) bool {
	if e == nil {
		return false
	}
	set, err := hostlist.ParseSet(e.Nodes)
	return e.Nodes == "" || err == nil && set.Contains(node)
}

func (l *loader) mode(attr *hclsyntax.Attribute, what string) (observe bool) {
	text, ok := l.text(attr, what)
	if ok && text != modeEnforce && text != modeObserve {
		l.add(l.file.At(hclfile.Error, attr.Expr.Range(), what+": it is neither of its two words",
			`Write "observe" to look at its jobs and change nothing, or "enforce" to serve them.`))
	}
	return text == modeObserve
}

// enforce reads the block of that name, which a scheduler in mode observe may have.
func (l *loader) enforce(p *Plugin, title string) {
	if p.Observe && p.Type == "local" {
		mode := p.block.Body.Attributes["mode"].NameRange
		l.add(l.file.At(hclfile.Error, mode, title+": mode: `weft run` has no other manager to observe",
			"Leave mode out: a job of this scheduler is one that somebody starts with Weft."))
	}
	for _, block := range p.block.Body.Blocks {
		if block.Type != blockEnforce || p.Kind != kindScheduler {
			continue
		}
		if !p.Observe {
			what := title + `: enforce: it is for mode = "observe", and every job is served without it`
			l.add(l.file.At(hclfile.Error, block.DefRange(), what, "Leave one of the two out."))
			continue
		}
		p.Enforce = l.scope(block, title+": "+blockEnforce)
	}
}

func (l *loader) scope(block *hclsyntax.Block, what string) *Enforce {
	l.add(l.file.Check(block.Body, hclfile.Shape{Where: what, Attributes: []string{"nodes", "queues"}})...)
	e := &Enforce{}
	if attr := block.Body.Attributes["nodes"]; attr != nil {
		if text, ok := l.text(attr, what+": nodes"); ok {
			e.Nodes = text
			if host, out := l.outside(l.hosts(attr.Expr.Range(), text, what+": nodes")); out {
				l.among(attr, what+": nodes", host)
			}
		}
	}
	if attr := block.Body.Attributes["queues"]; attr != nil {
		queues, findings := texts(l.file, attr.Expr, what+": queues")
		l.add(findings...)
		if findings == nil && (len(queues) == 0 || len(queues) > MaxQueues || slices.Contains(queues, "")) {
			what := what + ": queues: it must list from 1 to 256 names"
			l.add(l.file.At(hclfile.Error, attr.Expr.Range(), what, `Write it as ["debug"].`))
		}
		e.Queues = queues
	}
	if block.Body.Attributes["nodes"] == nil && block.Body.Attributes["queues"] == nil {
		l.add(l.file.At(hclfile.Error, block.DefRange(), what+": it names neither nodes nor queues",
			`Write nodes = "n[1-4]", queues = ["debug"], or both; to serve every job, leave out enforce and mode.`))
	}
	return e
}
