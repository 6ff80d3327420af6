// Package policy holds the verbs about policies.
package policy

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/daemon/settings"
	"github.com/weft-hpc/weft/hclfile"
	"github.com/weft-hpc/weft/policy"
	"github.com/weft-hpc/weft/policy/cases"
)

func New(o *cli.Options) *cobra.Command {
	return cli.Holder("policy", "Check, format, explain, test and apply the policy",
		newPolicyCheck(o),
		newPolicyFmt(o),
		newPolicyExplain(o),
		newPolicyTest(o),
		newPolicyApply(o),
		newPolicyDiff(o),
	)
}

// rulesArgs are the flags of the verbs that read policy files themselves, without a server.
type rulesArgs struct{ cli.ConfigFlag }

// ruleset is a policy as its files have it.
type ruleset struct {
	Config   *config.Config
	Env      policy.Env
	Policy   *policy.Policy // nil: it cannot be used
	Files    []hclfile.Source
	Tests    []hclfile.Source // of *_test.policy.hcl
	Findings []hclfile.Finding
}

// loadTested is load, but where files are tests alone they are held against the policy that the configuration names.
func (a *rulesArgs) loadTested(files []string) ruleset {
	r := a.load(files)
	if len(files) == 0 || len(r.Files) > 0 || len(r.Tests) == 0 {
		return r
	}
	rest := a.load(nil)
	rest.Tests = r.Tests
	return rest
}

// load reads the policy of files, or that which the configuration names. All that is wrong with either is among the findings.
func (a *rulesArgs) load(files []string) ruleset {
	c, findings := config.Load(a.Path())
	r := ruleset{Config: c, Findings: findings}
	if hclfile.Failed(findings) && (c == nil || c.Nodes == "" && len(c.Pools) == 0) {
		return r // what policy lacks would follow from that
	}
	if len(files) == 0 {
		files = []string{c.Policy}
	}
	r.Env = settings.Env(c)
	var more []hclfile.Finding
	r.Files, r.Tests, more = policy.Gather(files)
	r.Findings = append(r.Findings, more...)
	if len(r.Files) > 0 {
		r.Policy, more = policy.Load(r.Files, r.Env)
		r.Findings = append(r.Findings, more...)
	}
	if r.Findings = hclfile.Sort(r.Findings); hclfile.Failed(r.Findings) {
		r.Policy = nil
	}
	return r
}

// usable is load, but a policy that cannot be used is an error, after its findings were shown.
func (a *rulesArgs) usable(files []string) (ruleset, error) {
	r := a.load(files)
	if r.Policy == nil {
		cli.Show(r.Findings)
		return r, unusable(r.Findings)
	}
	return r, nil
}

// unusable says that nothing can be done with a policy, after its findings were shown.
func unusable(findings []hclfile.Finding) error {
	return cli.Usage("the policy cannot be used: %s", tally(findings))
}

// tally counts findings: 2 errors, 1 warning.
func tally(findings []hclfile.Finding) string {
	var n [hclfile.Notice + 1]int
	for _, f := range findings {
		n[min(f.Severity, hclfile.Notice)]++
	}
	var out []string
	for severity, count := range n {
		if count > 0 {
			out = append(out, core.Plural(count, hclfile.Severity(severity).String()))
		}
	}
	return cmp.Or(strings.Join(out, ", "), "nothing is wrong")
}

type checked struct {
	Policy   string            `json:"policy,omitempty"` // hash of one that can be used
	Files    []string          `json:"files"`
	Tests    []string          `json:"tests"`
	Findings []hclfile.Finding `json:"findings"`
}

func newPolicyCheck(o *cli.Options) *cobra.Command {
	a := &rulesArgs{}
	cmd := &cobra.Command{
		Use: "check [FILES]", Short: "Show all errors in a policy, as the server finds them", Args: cobra.ArbitraryArgs,
		Long: `Read policy files and show all their errors in one run, as the server does when
it loads them. Show also errors in the form of their tests. FILES are files and
folders of them. Without FILES, Weft takes the policy that the configuration
names. The configuration defines the pools, services, schedulers and nodes.

Exit codes:
  0  there is no error, warning or notice
  1  there are warnings or notices, but Weft can use the policy
  2  Weft cannot use the policy`,
		RunE: func(_ *cobra.Command, args []string) error {
			r := a.loadTested(args)
			_, more := cases.Load(r.Tests)
			if r.Findings = hclfile.Sort(append(r.Findings, more...)); hclfile.Failed(more) {
				r.Policy = nil
			}
			out := checked{Files: names(r.Files), Tests: names(r.Tests), Findings: append([]hclfile.Finding{}, r.Findings...)}
			if r.Policy != nil {
				out.Policy = r.Policy.Hash()
			}
			o.Coloured = true
			if err := cli.Print(o, out, func(w io.Writer, out checked) {
				_ = hclfile.Text(w, out.Findings, term.IsTerminal(int(os.Stdout.Fd())))
				if out.Policy != "" {
					fmt.Fprintf(w, "policy %.12s of %s: %s\n", out.Policy, core.Plural(len(out.Files), "file"), tally(out.Findings))
				}
			}); err != nil {
				return err
			}
			switch {
			case out.Policy == "":
				return unusable(r.Findings)
			case len(r.Findings) > 0:
				return cli.Exit(cli.ExitFailed, nil)
			}
			return nil
		},
	}
	a.Flags(cmd)
	return o.Listing(cmd)
}

func names(files []hclfile.Source) []string {
	out := []string{}
	for _, f := range files {
		out = append(out, f.Name)
	}
	return out
}
