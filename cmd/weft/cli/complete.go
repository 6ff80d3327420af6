package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/server"
)

// completing bounds what a key press may wait for.
const completing = 500 * time.Millisecond

// Suggest gives what a word of the command line can become, each with a tab and what it is.
type Suggest func(ctx context.Context) []string

// Once completes a command's only argument.
func (s Suggest) Once(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return s.each(cmd, args, word)
}

// each completes a word; of names with commas between, the last.
func (s Suggest) each(cmd *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
	ctx := cmd.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithTimeout(ctx, completing)
	defer cancel()
	head := word[:strings.LastIndexByte(word, ',')+1]
	var out []string
	for _, one := range s(ctx) {
		name, _, _ := strings.Cut(one, "\t")
		if strings.HasPrefix(head+one, word) && !strings.Contains(","+head, ","+name+",") {
			out = append(out, head+one)
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// NodeNames are the system's nodes; none where the server does not answer at once.
func (o *Options) NodeNames() Suggest {
	return func(ctx context.Context) []string {
		nodes, _ := List[server.NodeRow](ctx, o, "nodes", nil)
		out := make([]string, 0, len(nodes))
		for _, n := range nodes {
			state := n.State
			if n.Drained != "" {
				state += ", drained"
			}
			out = append(out, n.Node+"\t"+state)
		}
		return out
	}
}

// JobNames are the jobs that hold something.
func (o *Options) JobNames() Suggest {
	return func(ctx context.Context) []string {
		jobs, _ := List[server.JobRow](ctx, o, "jobs", nil)
		out := make([]string, 0, len(jobs))
		for _, j := range jobs {
			if !j.Unknown {
				out = append(out, j.Job+"\t"+j.State+", "+Account(j.User, j.UID))
			}
		}
		return out
	}
}

// VNINumbers are the VNIs that are not free.
func (o *Options) VNINumbers() Suggest {
	return func(ctx context.Context) []string {
		vnis, _ := List[server.VNIRow](ctx, o, "vnis", nil)
		out := make([]string, 0, len(vnis))
		for _, v := range vnis {
			out = append(out, fmt.Sprintf("%d\t%s %s", v.VNI, v.State, v.Job))
		}
		return out
	}
}

// Flag completes a flag's value.
func (s Suggest) Flag(cmd *cobra.Command, name string) {
	_ = cmd.RegisterFlagCompletionFunc(name, s.each)
}
