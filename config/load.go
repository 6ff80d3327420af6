package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hclfile"
)

var top = hclfile.Shape{
	Attributes: []string{"nodes", "policy", "unknown_vnis"},
	Required:   []string{"nodes"},
	Blocks: map[string]hclfile.BlockShape{
		"topology":    {Once: true},
		"pool":        {Labels: []string{"NAME"}},
		"service":     {Labels: []string{"NAME"}},
		kindScheduler: {Labels: []string{"TYPE", "NAME"}},
		kindDriver:    {Labels: []string{"TYPE"}},
		"server":      {Once: true},
		"agent":       {Once: true},
	},
}

// Load reads the file and everything in it but the plugins' own attributes. The Config is never nil; see the package's comment for what it is good for when
// hclfile.Failed.
func Load(path string) (*Config, []hclfile.Finding) {
	source, findings := hclfile.Read(path)
	if findings != nil {
		return &Config{File: path}, findings
	}
	return Parse(source)
}

// Parse is Load for a text that is in memory.
func Parse(source hclfile.Source) (*Config, []hclfile.Finding) {
	file, findings := hclfile.Parse(source)
	sum := sha256.Sum256(source.Text)
	l := loader{file: file, findings: findings, config: &Config{File: source.Name, Hash: hex.EncodeToString(sum[:])}}
	l.config.Policy = l.path(DefaultPolicy)
	l.config.Server = Server{Socket: DefaultServerSocket, Store: DefaultStore, Witness: DefaultWitness, Unwitnessed: UnwitnessedWait, TLS: DefaultTLS}
	l.config.Agent = Agent{Dir: DefaultAgentDir, TLS: DefaultTLS}
	if file.Whole { // else what would be found may follow from what is wrong with the syntax
		l.top(file.Body)
	}
	return l.config, hclfile.Sort(l.findings)
}

type loader struct {
	file     *hclfile.File
	config   *Config
	findings []hclfile.Finding
	nodes    map[string]bool // nil while they are not known
	vnis     owners
	many     bool // it was said that there are too many blocks
}

func (l *loader) top(body *hclsyntax.Body) {
	l.add(l.file.Check(body, top)...)
	nodes := body.Attributes["nodes"]
	if text, ok := l.text(nodes, "nodes"); ok {
		l.config.Nodes = text
		if hosts := l.hosts(nodes.Expr.Range(), text, "nodes"); hosts != nil {
			l.nodes = map[string]bool{}
			for _, host := range hosts {
				l.nodes[host] = true
			}
			l.config.NodeCount = len(hosts)
		}
	}
	if text, ok := l.text(body.Attributes["policy"], "policy"); ok {
		l.config.Policy = l.path(text)
	}
	if attr := body.Attributes["unknown_vnis"]; attr != nil {
		n, findings := l.file.Int(attr.Expr, "unknown_vnis", 1, math.MaxUint16)
		l.add(findings...)
		l.config.UnknownVNIs = int(n)
	}
	for _, block := range body.Blocks {
		if len(block.Labels) != len(top.Blocks[block.Type].Labels) {
			continue
		}
		switch block.Type {
		case "topology":
			l.topology(block)
		case "pool", "service":
			if l.few(block, len(l.config.Pools)+len(l.config.Services)) {
				l.pool(block)
			}
		case kindScheduler, kindDriver:
			if l.few(block, len(l.config.Schedulers)+len(l.config.Drivers)) {
				l.plugin(block)
			}
		case "server":
			l.daemon(block, serverSettings, serverBlocks)
			l.shared(block)
		case "agent":
			l.daemon(block, agentSettings, nil)
		}
	}
	for _, kind := range []string{"pool", kindScheduler, kindDriver} {
		if !slices.ContainsFunc(body.Blocks, func(b *hclsyntax.Block) bool { return b.Type == kind }) {
			l.add(l.file.At(hclfile.Error, body.MissingItemRange(), "there is no "+kind+" block", map[string]string{
				"pool":        `Say which VNIs may be given to jobs: pool "jobs" { vnis = "1024-65535" }.`,
				kindScheduler: `Say who starts jobs, such as scheduler "slurm" "tioga" { }, or scheduler "local" "local" { } for weft run alone.`,
				kindDriver:    `Say what NICs the nodes have: driver "cxi" { } for Slingshot NICs, driver "sim" { } for simulated ones.`,
			}[kind]))
		}
	}
	l.ambiguous()
}

// ambiguous refuses a scheduler whose name is another's type: hooks name a scheduler by either.
func (l *loader) ambiguous() {
	for _, named := range l.config.Schedulers {
		for _, other := range l.config.Schedulers {
			if named.Name == other.Type && named.Type != other.Type {
				l.add(l.file.At(hclfile.Error, named.block.LabelRanges[1], hclfile.Title(named.block)+": its name is the type of "+hclfile.Title(other.block),
					"Hooks may name a scheduler by its name or its type; choose another name."))
			}
		}
	}
}

// maxBlocks bounds the pools with the services, and the schedulers with the drivers.
const maxBlocks = 256

func (l *loader) few(block *hclsyntax.Block, have int) bool {
	if have < maxBlocks {
		return true
	}
	if !l.many {
		l.add(l.file.At(hclfile.Error, block.DefRange(), fmt.Sprintf("there are more than %d %s blocks and their like", maxBlocks, block.Type), ""))
	}
	l.many = true
	return false
}

func (l *loader) add(findings ...hclfile.Finding) { l.findings = append(l.findings, findings...) }

// path is text as seen from the file's folder.
func (l *loader) path(text string) string {
	if filepath.IsAbs(text) {
		return filepath.Clean(text)
	}
	return filepath.Join(filepath.Dir(l.file.Name), text)
}

// text reads an attribute that must be a text with something in it, where there is one.
func (l *loader) text(attr *hclsyntax.Attribute, what string) (string, bool) {
	if attr == nil {
		return "", false
	}
	text, findings := l.file.String(attr.Expr, what)
	l.add(findings...)
	if findings == nil && text == "" {
		l.add(l.file.At(hclfile.Error, attr.Expr.Range(), what+": it is empty", ""))
		return "", false
	}
	return text, findings == nil
}

// name checks a block's label, which becomes an identity.
func (l *loader) name(block *hclsyntax.Block, label, limit int) bool {
	if err := core.CheckName(block.Type, block.Labels[label], limit); err != nil {
		l.add(l.file.At(hclfile.Error, block.LabelRanges[label], err.Error(), "It is written in records, paths and logs: use letters, digits, '.', '_' and '-'."))
		return false
	}
	return true
}
