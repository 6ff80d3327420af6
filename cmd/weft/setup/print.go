package setup

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/weft-hpc/weft/plan"
)

// guide has the words that a person reads after a plan's findings and changes.
type guide struct {
	none     string    // in place of the changes, where there are none
	sections []section // after the changes
	next     string    // to do once the changes are made
}

// section is a list of lines. Its heading shows only above lines.
type section struct {
	heading string
	lines   []string
}

type shown struct {
	Findings []plan.Finding `json:"findings"`
	Changes  []shownChange  `json:"changes"`
	Done     bool           `json:"done"`
	Lines    any            `json:"lines"`             // for the scheduler; Flux's are one text
	Stack    []string       `json:"stack,omitempty"`   // lines of plugstack.conf
	Replaced []string       `json:"replaced,omitzero"` // lines of slurm.conf
	Files    []string       `json:"files,omitzero"`    // hook files of Slurm
}

type shownChange struct {
	Path  string `json:"path"`
	What  string `json:"what"`
	Text  string `json:"text,omitempty"`
	brief bool   // a person does not need its text
}

func (s *shown) add(p plan.Plan) {
	s.Findings, s.Changes = append([]plan.Finding{}, p.Findings...), []shownChange{}
	for _, c := range p.Changes {
		s.Changes = append(s.Changes, shownChange{c.Path, c.Action(), string(c.Text), c.Site || c.Gone || c.Brief})
	}
}

func refusals(p plan.Plan) string {
	n, first := 0, ""
	for _, f := range p.Findings {
		if f.Level == plan.Refusal {
			n++
			first = cmp.Or(first, f.Setting+": "+f.What)
		}
	}
	if n == 1 {
		return first
	}
	return fmt.Sprintf("%d findings refuse: %s …", n, first)
}

func (s shown) print(w io.Writer, g guide) {
	for _, f := range s.Findings {
		place := f.Place()
		if place != "" {
			place = " (" + place + ")"
		}
		fmt.Fprintf(w, "%-8s %s%s: %s\n", f.Level, f.Setting, place, f.What)
		if f.Remedy != "" {
			fmt.Fprintf(w, "%-8s -> %s\n", "", f.Remedy)
		}
	}
	if len(s.Findings) > 0 {
		fmt.Fprintln(w)
	}
	if p := (plan.Plan{Findings: s.Findings}); len(s.Changes) == 0 && !p.Refused() {
		fmt.Fprintln(w, g.none)
	}
	for _, c := range s.Changes {
		c.print(w, s.Done)
	}
	for _, part := range g.sections {
		if len(part.lines) > 0 {
			fmt.Fprintf(w, "\n%s\n  %s\n", part.heading, strings.Join(part.lines, "\n  "))
		}
	}
	switch {
	case len(s.Changes) == 0:
	case s.Done:
		fmt.Fprintln(w, "\n"+g.next)
	default:
		fmt.Fprintln(w, "\nNothing is changed yet.")
	}
}

// print says how the file was changed, or how it would be, with the text of it.
func (c shownChange) print(w io.Writer, done bool) {
	past := map[string]string{"create": "created", "change": "changed", "remove": "removed"}
	if done {
		fmt.Fprintf(w, "%s: %s\n", c.Path, past[c.What])
		return
	}
	fmt.Fprintf(w, "%s: to %s\n", c.Path, c.What)
	if !c.brief {
		for line := range strings.Lines(c.Text) {
			fmt.Fprint(w, "  | "+line)
		}
	}
}
