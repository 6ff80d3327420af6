package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
)

// defaultDir is where `weft dev` puts its sockets.
const defaultDir = "weft.dev"

// options are the flags that all verbs share.
type options struct {
	dir    string
	output string
}

func (o *options) server() string { return filepath.Join(o.dir, "server.sock") }

func (o *options) agent(node string) string { return filepath.Join(o.dir, "nodes", node, "agent.sock") }

// listing gives cmd the flag -o.
func (o *options) listing(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringVarP(&o.output, "output", "o", "table", "table or json")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"table", "json"}, cobra.ShellCompDirectiveNoFileComp))
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if o.output != "table" && o.output != "json" {
			return usage(fmt.Errorf("output %q: it is neither table nor json", o.output))
		}
		return run(cmd, args)
	}
	return cmd
}

// print shows v as JSON, or by table.
func (o *options) print(w io.Writer, v any, table func(w io.Writer)) error {
	if o.output == "json" {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(v)
	}
	table(w)
	return nil
}

// columns prints rows under a heading.
func columns(w io.Writer, head string, rows [][]string) {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, strings.ReplaceAll(head, " ", "\t"))
	for _, r := range rows {
		for i, c := range r {
			if c == "" {
				r[i] = "-"
			}
		}
		fmt.Fprintln(t, strings.Join(r, "\t"))
	}
	_ = t.Flush()
}

// ago is a time as an administrator reads it.
func ago(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	d := time.Since(t).Round(time.Second)
	if d < 0 {
		return t.Format(time.DateTime)
	}
	if d < 48*time.Hour {
		return d.String()
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// account is a user by name, or by number where there is none.
func account(name string, uid uint32) string {
	if name != "" {
		return name
	}
	return fmt.Sprint(uid)
}

// stdout is where answers go.
func stdout() io.Writer { return os.Stdout }
