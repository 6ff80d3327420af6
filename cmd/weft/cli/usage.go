package cli

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/core"
)

// Usage is an error of usage or of configuration.
func Usage(format string, args ...any) error { return Exit(exitUsage, fmt.Errorf(format, args...)) }

// Misuse is a mistake in how cmd was called. `weft run` has an exit code of its own for it: COMMAND may exit with any other.
func Misuse(cmd *cobra.Command, format string, args ...any) error {
	code := exitUsage
	if cmd.Name() == "run" {
		code = ExitRun
	}
	return Exit(code, fmt.Errorf("%w; see `%s --help`", fmt.Errorf(format, args...), cmd.CommandPath()))
}

// Regexp compiles the value of cmd's flag --run; nil where it is empty.
func Regexp(cmd *cobra.Command, text string) (*regexp.Regexp, error) {
	if text == "" {
		return nil, nil
	}
	r, err := regexp.Compile(text)
	if err != nil {
		return nil, Misuse(cmd, "run %q: %w", core.Clip(text), err)
	}
	return r, nil
}

// WantArgs makes a command's complaint about its arguments one of usage, in the words of its form.
func WantArgs(c *cobra.Command) {
	if check := c.Args; check != nil && !c.HasSubCommands() {
		c.Args = func(cmd *cobra.Command, args []string) error {
			err := check(cmd, args)
			if _, said := errors.AsType[*ExitError](err); said || err == nil {
				return err
			}
			_, form, _ := strings.Cut(cmd.Use, " ")
			switch {
			case form == "" || strings.HasPrefix(form, "--"):
				return Misuse(cmd, "%s: it takes no argument, and %q was given", cmd.Name(), core.Clip(args[0]))
			case len(args) == 0:
				return Misuse(cmd, "%s: %s is missing", cmd.Name(), form)
			}
			return Misuse(cmd, "%s: it takes %s, and %d arguments were given", cmd.Name(), form, len(args))
		}
	}
	for _, sub := range c.Commands() {
		WantArgs(sub)
	}
}

// NoVerb refuses an argument of a command that only holds others.
func NoVerb(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		return Usage("%q: there is no such verb; did you mean `%s %s`?", core.Clip(args[0]), cmd.CommandPath(), strings.Join(near, "` or `"+cmd.CommandPath()+" "))
	}
	return Usage("%q: there is no such verb; `%s --help` lists them", core.Clip(args[0]), cmd.CommandPath())
}

// Holder is a command that only holds others.
func Holder(use, short string, subs ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: NoVerb, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(subs...)
	return cmd
}
