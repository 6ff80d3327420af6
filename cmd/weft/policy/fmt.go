package policy

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/file"
	"github.com/weft-hpc/weft/hclfile"
	"github.com/weft-hpc/weft/policy"
)

type formatted struct {
	Files    []string          `json:"files"`   // that it looked at
	Changed  []string          `json:"changed"` // with --check: that it would
	Findings []hclfile.Finding `json:"findings"`
}

func newPolicyFmt(o *cli.Options) *cobra.Command {
	a, check := &rulesArgs{}, false
	cmd := &cobra.Command{
		Use: "fmt [FILES]", Short: "Give policy files the standard layout", Args: cobra.ArbitraryArgs,
		Long: `Give policy files and their tests the standard layout, and print the names of
the files that changed. Only white space changes. FILES are files and folders
of them. Without FILES, Weft takes the policy that the configuration names. A
file that Weft cannot parse stays as it is.

Exit codes:
  0  done
  1  Weft could not write a file, or --check found a file with another layout
  2  Weft cannot read or parse a file`,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				c, findings := config.Load(a.Path())
				if hclfile.Failed(findings) {
					return cli.Unusable(a.Path(), findings)
				}
				args = []string{c.Policy}
			}
			out := formatted{Files: []string{}, Changed: []string{}}
			files, tests, findings := policy.Gather(args)
			if len(files)+len(tests) > 0 { // tests alone may be laid out too
				findings = slices.DeleteFunc(findings, func(f hclfile.Finding) bool { return f.Summary == policy.NoFile })
			}
			out.Findings = append([]hclfile.Finding{}, findings...)
			var failed error
			for _, file := range append(files, tests...) {
				out.Files = append(out.Files, file.Name)
				text, more := hclfile.Format(file)
				out.Findings = append(out.Findings, more...)
				if bytes.Equal(text, file.Text) {
					continue
				}
				if !check {
					if failed = replace(file.Name, text); failed != nil {
						break
					}
				}
				out.Changed = append(out.Changed, file.Name)
			}
			if err := cli.Print(o, out, func(w io.Writer, out formatted) {
				for _, name := range out.Changed {
					fmt.Fprintln(w, name)
				}
				cli.Show(out.Findings)
			}); err != nil {
				return err
			}
			switch {
			case failed != nil:
				return failed
			case hclfile.Failed(out.Findings):
				return cli.Usage("policy fmt: %s", tally(out.Findings))
			case check && len(out.Changed) > 0:
				return cli.Exit(cli.ExitFailed, fmt.Errorf("policy fmt: %s to lay out", core.Plural(len(out.Changed), "file")))
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&check, "check", false,
		"change nothing; list the files with another layout, and exit with 1 if there are any")
	a.Flags(cmd)
	return o.Listing(cmd)
}

// replace writes a file anew, whole or not at all, with the mode and the owner that it had. A link stays one.
func replace(path string, text []byte) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: it cannot be written: %w", core.Clip(path), err)
		}
	}()
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return file.Replace(path, text, file.Like(info))
}
