package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/core"
)

// usage marks err as one of usage or configuration.
func usage(err error) error { return &exitError{exitUsage, err} }

// misuse is a mistake in how cmd was called. `weft run` has an exit code of its own for it: COMMAND may exit with any other.
func misuse(cmd *cobra.Command, err error) error {
	code := exitUsage
	if cmd.Name() == "run" {
		code = exitRun
	}
	return &exitError{code, fmt.Errorf("%w; see `%s --help`", err, cmd.CommandPath())}
}

// wantArgs makes a command's complaint about its arguments one of usage, in the words of its form.
func wantArgs(c *cobra.Command) {
	if check := c.Args; check != nil && !c.HasSubCommands() {
		c.Args = func(cmd *cobra.Command, args []string) error {
			err := check(cmd, args)
			if _, said := errors.AsType[*exitError](err); said || err == nil {
				return err
			}
			_, form, _ := strings.Cut(cmd.Use, " ")
			switch {
			case form == "" || strings.HasPrefix(form, "--"):
				return misuse(cmd, fmt.Errorf("%s: it takes no argument, and %q was given", cmd.Name(), core.Clip(args[0])))
			case len(args) == 0:
				return misuse(cmd, fmt.Errorf("%s: %s is missing", cmd.Name(), form))
			}
			return misuse(cmd, fmt.Errorf("%s: it takes %s, and %d arguments were given", cmd.Name(), form, len(args)))
		}
	}
	for _, sub := range c.Commands() {
		wantArgs(sub)
	}
}

// noVerb refuses an argument of a command that only holds others.
func noVerb(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		return usage(fmt.Errorf("%q: there is no such verb; did you mean `%s %s`?", core.Clip(args[0]), cmd.CommandPath(), strings.Join(near, "` or `"+cmd.CommandPath()+" ")))
	}
	return usage(fmt.Errorf("%q: there is no such verb; `%s --help` lists them", core.Clip(args[0]), cmd.CommandPath()))
}

// holder is a command that only holds others.
func holder(use, short string, subs ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: noVerb, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(subs...)
	return cmd
}
