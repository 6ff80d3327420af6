package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/server"
)

// completing bounds the wait of a key press. An adapter that is a program must start first.
const completing = 3 * time.Second

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
	directive := cobra.ShellCompDirectiveNoFileComp
	for _, one := range s(ctx) {
		one = strings.Map(core.Shown, one)
		name, _, _ := strings.Cut(one, "\t")
		if strings.HasPrefix(head+one, word) && !strings.Contains(","+head, ","+name+",") {
			out = append(out, head+one)
			if strings.HasSuffix(name, "=") {
				directive |= cobra.ShellCompDirectiveNoSpace // its value follows
			}
		}
	}
	return out, directive
}

func (o *Options) NodeNames() Suggest {
	return suggest(o, "nodes", func(n server.NodeRow) string {
		if n.Drained != "" {
			return n.Node + "\t" + n.State + ", drained"
		}
		return n.Node + "\t" + n.State
	})
}

// JobNames are the jobs that hold something.
func (o *Options) JobNames() Suggest {
	return suggest(o, "jobs", func(j server.JobRow) string {
		if j.Unknown {
			return ""
		}
		return j.Job + "\t" + j.State + ", " + Account(j.User, j.UID)
	})
}

// VNINumbers are the VNIs that are not free.
func (o *Options) VNINumbers() Suggest {
	return suggest(o, "vnis", func(v server.VNIRow) string { return fmt.Sprintf("%d\t%s %s", v.VNI, v.State, v.Job) })
}

// OptionNames are the options of a scheduler's users; open finds the adapter that lists them, and a function to end it.
func OptionNames(open func(context.Context) (core.RequestParser, func(), error)) Suggest {
	return func(ctx context.Context) (out []string) {
		parser, end, err := open(ctx)
		if err != nil {
			return nil
		}
		defer end()
		options, _ := parser.Options(ctx)
		for _, o := range options {
			for _, name := range o.Names {
				if o.Value != "" {
					name += "="
				}
				out = append(out, name+"\t"+o.Help)
			}
		}
		return out
	}
}

// suggest gives what say makes of each row of a list of the server's, unless it is empty; nothing where the server does not answer at once.
func suggest[T any](o *Options, verb string, say func(T) string) Suggest {
	return func(ctx context.Context) []string {
		rows, _ := List[T](ctx, o, verb, nil)
		var out []string
		for _, r := range rows {
			if text := say(r); text != "" {
				out = append(out, text)
			}
		}
		return out
	}
}

func (s Suggest) Flag(cmd *cobra.Command, name string) {
	_ = cmd.RegisterFlagCompletionFunc(name, s.each)
}
