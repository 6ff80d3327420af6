package setup

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/plan"
)

// mode says whether a plan is only shown, is written, or takes out again what was written.
type mode struct{ write, remove bool }

func (m *mode) flags(cmd *cobra.Command, write, remove string) {
	cmd.Flags().BoolVar(&m.write, "write", false, write)
	cmd.Flags().BoolVar(&m.remove, "remove", false, remove)
}

func (m mode) check(cmd *cobra.Command) error {
	if m.write && m.remove {
		return cli.Misuse(cmd, "init %s: give one of --write and --remove", cmd.Name())
	}
	return nil
}

// guide is what a person reads beside a plan's findings and changes.
type guide struct {
	none     string    // in place of the changes, where there are none
	sections []section // after the changes
	next     string    // to do once the changes are made
}

// section is a list of lines. Nobody sees its heading where it has no lines.
type section struct {
	heading string
	lines   []string
}

// shown is a plan as JSON; a scheduler may add to it.
type shown struct {
	Findings []plan.Finding `json:"findings"`
	Changes  []shownChange  `json:"changes"`
	Done     bool           `json:"done"`
}

type shownChange struct {
	Path  string `json:"path"`
	What  string `json:"what"`
	Text  string `json:"text,omitempty"`
	brief bool   // a person does not need its text
}

func show(p plan.Plan, done bool) shown {
	s := shown{Findings: append([]plan.Finding{}, p.Findings...), Changes: []shownChange{}, Done: done}
	for _, c := range p.Changes {
		s.Changes = append(s.Changes, shownChange{c.Path, c.Action(), string(c.Text), c.Site || c.Gone || c.Brief})
	}
	return s
}

// carryOut writes a plan where the mode says so, and prints it: a person gets the guide too, and JSON is what as makes of it.
func carryOut(o *cli.Options, scheduler string, p plan.Plan, m mode, g guide, as func(shown) any) error {
	done := (m.write || m.remove) && !p.Refused()
	if done {
		if err := p.Write(); err != nil {
			return cli.Exit(cli.ExitFailed, err)
		}
	}
	s := show(p, done)
	if err := cli.Print(o, as(s), func(w io.Writer, _ any) { s.print(w, g) }); err != nil {
		return err
	}
	if p.Refused() {
		return cli.Exit(cli.ExitFailed, fmt.Errorf("init %s: %s; nothing was changed", scheduler, refusals(p)))
	}
	return nil
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
	if len(s.Changes) == 0 {
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
