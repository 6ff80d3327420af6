package policy

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hclfile"
	"github.com/weft-hpc/weft/policy"
)

func printExplained(w io.Writer, e explained) {
	j := e.Job
	fmt.Fprintf(w, "job %s of %s on %s: policy %.12s\n", cmp.Or(oneLine(j.ID), "-"), cmp.Or(oneLine(j.User), "-"), oneLine(hosts(e)), e.Policy)
	if e.Live != nil {
		fmt.Fprintf(w, "  it is %s, and was granted by %s\n", e.Live.State, e.Live.whose())
	}
	if e.Outside != nil {
		fmt.Fprintf(w, "  warning: %s\n", e.Outside)
	}
	printDecision(w, e.Trace)
	fmt.Fprintln(w, "\nWhat it gets, and which line says so:")
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	for _, a := range e.Attributes {
		fmt.Fprintf(t, "  %s\t%s\t%s\n", a.Name, cmp.Or(a.Value, "-"), set(a.Set))
		for _, old := range a.Replaced {
			fmt.Fprintf(t, "\t\treplaces %s\n", set(old))
		}
		if a.Asked != "" {
			fmt.Fprintf(t, "\t\tits user asked for %s\n", a.Asked)
		}
	}
	_ = t.Flush()
	for _, s := range e.Shares {
		printShare(w, s)
	}
	fmt.Fprintln(w, "\nEvery rule, in order:")
	for _, b := range e.Blocks {
		printBlock(w, b)
	}
}

// oneLine keeps what a scheduler or a user wrote from looking like another line of the answer.
func oneLine(s string) string { return hclfile.Printable(s, 1<<16) }

func hosts(e explained) string {
	if len(e.Job.Shares) == 0 {
		return fmt.Sprintf("%s with %s each", e.Job.Nodes, core.Plural(e.Job.Cores, "core"))
	}
	var out []string
	for _, s := range e.Job.Shares {
		out = append(out, fmt.Sprintf("%s with %s each", s.Nodes, core.Plural(s.Cores, "core")))
	}
	return strings.Join(out, ", ")
}

func printDecision(w io.Writer, t policy.Trace) {
	switch {
	case t.Deny != nil && t.Deny.By != nil:
		fmt.Fprintf(w, "DENIED by %s: %s\n", place(*t.Deny.By), t.Deny.What)
	case t.Deny != nil:
		fmt.Fprintln(w, "DENIED: "+t.Deny.What)
	case len(t.Decision.VNIs) == 0:
		fmt.Fprintln(w, "no network: no VNI, no service")
	default:
		fmt.Fprintln(w, "granted")
	}
	if t.Deny != nil && t.Deny.Remedy != "" {
		fmt.Fprintln(w, "  -> "+t.Deny.Remedy)
	}
	for _, text := range t.Warnings {
		fmt.Fprintln(w, "  warning: "+text)
	}
	for _, text := range t.Trials {
		fmt.Fprintln(w, "  dry run: "+text)
	}
}

// place is where a block stands: rule "storage" (site.policy.hcl:12).
func place(p policy.Place) string {
	out := p.Kind
	if p.Name != "" {
		out += fmt.Sprintf(" %q", p.Name)
	}
	if p.File != "" {
		out += fmt.Sprintf(" (%s:%d)", p.File, p.Line)
	}
	return out
}

func set(s policy.Setting) string { return place(s.Place) + ": " + s.Text }

func printShare(w io.Writer, s policy.Share) {
	depth := ""
	if s.Depth > 0 {
		depth = fmt.Sprintf(", depth %d in place of it", s.Depth)
	}
	fmt.Fprintf(w, "\nOn %s, %s each%s, of each NIC:\n", strings.Join(s.Hosts, ","), core.Plural(s.Cores, "core"), depth)
	cli.Table(w, "  RESOURCE RESERVED MAX FLOOR ASKED SET-BY", s.Resources, func(r policy.Resource) []string {
		asked := ""
		if r.Asked {
			asked = "yes"
		}
		return []string{"  " + r.Name, fmt.Sprint(r.Reserved), fmt.Sprint(r.Max), fmt.Sprint(r.Floor), asked, place(r.Set)}
	})
}

func printBlock(w io.Writer, b policy.Block) {
	said := string(b.Outcome)
	if b.Unasked {
		said = "not asked, it would be: " + said
	}
	fmt.Fprintf(w, "  %s: %s\n", place(b.Place), said)
	fmt.Fprintln(w, "      "+b.Why)
	if b.When != nil && (len(b.When.Parts) > 0 || b.Outcome == policy.Failed) {
		printCondition(w, *b.When, "      ")
	}
	if len(b.Sets) > 0 {
		fmt.Fprintln(w, "      sets "+strings.Join(b.Sets, ", "))
	}
	for _, q := range b.Bounds {
		fmt.Fprintf(w, "      %s may hold %d %s together\n", oneLine(q.Subject), q.Most, q.Unit)
	}
	if b.Ended {
		fmt.Fprintln(w, "      it refuses the job")
	}
}

// printCondition shows a condition part by part: what it gave, and what it read.
func printCondition(w io.Writer, c policy.Condition, indent string) {
	if c.Join == "(" && len(c.Parts) == 1 {
		printCondition(w, c.Parts[0], indent)
		return
	}
	said := c.Value
	if c.Error != "" {
		said = "an error: " + c.Error
	}
	var reads []string
	for _, r := range c.Reads {
		if r.Name != c.Text {
			reads = append(reads, r.Name+" is "+r.Value)
		}
	}
	line := fmt.Sprintf("%s%-6s %s", indent, said, c.Text)
	if len(reads) > 0 {
		line += "   [" + strings.Join(reads, ", ") + "]"
	}
	fmt.Fprintln(w, line)
	for _, part := range c.Parts {
		printCondition(w, part, indent+"  ")
	}
}
