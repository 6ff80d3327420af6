package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hclfile"
)

// settings are what the top of the policy and its rules set. nil, in a rule: it says nothing of it.
type settings struct {
	classes     *core.Classes
	limits      *limits
	vnis        *[]*vni
	share       *bool // greedy
	minNICs     *int
	floor       *[core.NumResources]*number
	collectives *number

	at [numAttributes]Setting
}

// attribute is one of what settings hold.
type attribute uint8

const (
	classesAttr attribute = iota
	limitsAttr
	vnisAttr
	shareAttr
	minNICsAttr
	floorAttr
	collectivesAttr
	numAttributes
)

var attributeNames = [numAttributes]string{"traffic_classes", "limits", "vnis", "share", "min_nics", "floor", "collectives"}

// settable are those that may stand at the top and in rules.
var settable = attributeNames[:collectivesAttr]

func (s *settings) sets(a attribute) bool {
	return [numAttributes]bool{
		s.classes != nil, s.limits != nil, s.vnis != nil, s.share != nil, s.minNICs != nil, s.floor != nil, s.collectives != nil,
	}[a]
}

// all are the attributes that s sets.
func (s *settings) all() []attribute {
	var out []attribute
	for a := range numAttributes {
		if s.sets(a) {
			out = append(out, a)
		}
	}
	return out
}

// defaults reads the top of one file. Each attribute may stand in one file only: which one would win is nobody's knowledge.
func (c *compiler) defaults(file *hclfile.File) {
	for name, attr := range file.Body.Attributes {
		if !slices.Contains(top.Attributes, name) {
			continue
		}
		if first, ok := c.seen["= "+name]; ok {
			c.add(file.At(hclfile.Error, attr.NameRange, name+" is given twice", fmt.Sprintf("The first is at %s. To change a default of another file, write a rule that has neither when nor match.", first)))
		} else {
			c.seen["= "+name] = at(file, attr.NameRange)
		}
		if name == "on_failure" {
			c.onFailure(file, attr)
			continue
		}
		c.set(&c.policy.defaults, Place{Kind: "top"}, file, attr, name)
	}
}

func (c *compiler) onFailure(file *hclfile.File, attr *hclsyntax.Attribute) {
	c.policy.degrade = c.either(file, attr, "on_failure", "refuse", "degrade")
	c.policy.failure = written(file, attr, Place{Kind: "top"})
}

// either reads one of two words, and reports whether it is the second.
func (c *compiler) either(file *hclfile.File, attr *hclsyntax.Attribute, what string, words ...string) bool {
	text, findings := file.String(attr.Expr, what)
	c.add(findings...)
	if findings == nil && !slices.Contains(words, text) {
		c.add(unknown(file, attr.Expr.Range(), fmt.Sprintf("%s: %q is not one of its values", what, core.Clip(text)), text, words))
	}
	return text == words[1]
}

// required says which defaults are missing: they are seen in the files, not hidden in a program.
func (c *compiler) required(files []hclfile.Source) {
	for _, name := range []string{"limits", "traffic_classes", "vnis"} {
		if _, ok := c.seen["= "+name]; !ok {
			finding := hclfile.Finding{Severity: hclfile.Error, Summary: fmt.Sprintf("the policy sets no %s for every job", name),
				Detail: "Set it once at the top of a file, outside all blocks; rules may set another."}
			if len(files) > 0 {
				finding.File = files[0].Name
			}
			c.add(finding)
		}
	}
}

// set reads one of settable, or collectives.
func (c *compiler) set(s *settings, in Place, file *hclfile.File, attr *hclsyntax.Attribute, what string) {
	if a := slices.Index(attributeNames[:], attr.Name); a >= 0 {
		s.at[a] = written(file, attr, in)
	}
	switch attr.Name {
	case "traffic_classes":
		s.classes = c.classes(file, attr.Expr, what)
	case "limits":
		text, findings := file.String(attr.Expr, what)
		c.add(findings...)
		if s.limits = c.limits[text]; findings == nil && s.limits == nil && !c.syntax {
			c.add(unknown(file, attr.Expr.Range(), fmt.Sprintf("%s: there is no block limits %q", what, core.Clip(text)), text, slices.Sorted(maps.Keys(c.limits))))
		}
	case "vnis":
		list := c.vniList(file, attr.Expr, what)
		s.vnis = &list
	case "share":
		greedy := c.either(file, attr, what, "guaranteed", "greedy")
		s.share = &greedy
	case "min_nics":
		n, findings := c.minNICs(file, attr.Expr, what)
		c.add(findings...)
		s.minNICs = &n
	case "floor":
		s.floor = c.floor(file, attr.Expr, what)
	case "collectives":
		c.add(file.At(hclfile.Warning, attr.NameRange,
			strings.TrimSuffix(what, ": collectives")+": collectives are granted, but no fabric backend is configured",
			"This release has no backend that makes them, so no job gets any. Leave them out until there is one."))
		fields := c.fields(file, attr.Expr, what, "{ addresses = 8 }", []string{"addresses"}, nil, nil)
		if fields["addresses"] != nil {
			s.collectives = c.number(file, fields["addresses"], what, "addresses", ruleScope)
		}
	}
}

func (c *compiler) classes(file *hclfile.File, tree hclsyntax.Expression, what string) *core.Classes {
	items, findings := file.Items(tree, what)
	c.add(findings...)
	var set core.Classes
	for _, item := range items {
		class, err := core.ParseClass(item.Text)
		if err != nil {
			c.add(unknown(file, item.At, fmt.Sprintf("%s: there is no traffic class %q", what, core.Clip(item.Text)), item.Text, core.ClassNames()))
			continue
		}
		if set&class != 0 {
			c.add(file.At(hclfile.Error, item.At, fmt.Sprintf("%s: %q is given twice", what, item.Text), ""))
		}
		set |= class
	}
	if findings == nil && len(items) == 0 {
		c.add(file.At(hclfile.Error, tree.Range(), what+": it names no class", "A service without a class can send nothing. For a job without network write vnis = []."))
	}
	return &set
}

// minNICs is a number of NICs, or "all", which is 0 in a decision.
func (c *compiler) minNICs(file *hclfile.File, tree hclsyntax.Expression, what string) (int, []hclfile.Finding) {
	if text, findings := file.String(tree, what); findings == nil && text == "all" {
		return 0, nil
	}
	n, findings := file.Int(tree, what, 1, 64)
	for i := range findings {
		findings[i].Detail = `Write a number from 1 to 64, or "all" for every NIC of the node's accepted inventory.`
	}
	return int(n), findings
}

func (c *compiler) floor(file *hclfile.File, tree hclsyntax.Expression, what string) *[core.NumResources]*number {
	floor := &[core.NumResources]*number{}
	fields := c.fields(file, tree, what, "{ txqs = 8 }", nil, core.ResourceNames(), resourceName)
	for i, name := range core.ResourceNames() {
		if fields[name] != nil {
			floor[i] = c.number(file, fields[name], what, name, ruleScope)
		}
	}
	return floor
}

// resourceName is a NIC resource's name as Weft writes it, given as the kernel or Slurm do, in any case; what is no resource is left as it is.
func resourceName(s string) string {
	if r, err := core.ParseResource(s); err == nil {
		return r.String()
	}
	return s
}

// unknown is the finding for a name that is none of those known.
func unknown(file *hclfile.File, r hcl.Range, summary, given string, known []string) hclfile.Finding {
	f := file.At(hclfile.Error, r, summary, "")
	if f.Suggestion = hclfile.Near(given, known); f.Suggestion == "" {
		f.Detail = "There is none."
		if len(known) > 0 {
			f.Detail = "There are: " + strings.Join(slices.Sorted(slices.Values(known)), ", ") + "."
		}
	}
	return f
}
