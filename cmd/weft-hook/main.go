// Command weft-hook is what a scheduler's hooks exec: it carries one hook's call to the node's agent and says what the adapter answers.
//
//	weft-hook [--dir RUNDIR] SCHEDULER PHASE [ARG...]
//
// It knows no scheduler: what each phase needs, the agent left in its run directory. Whatever happens, it is over within the phase's time limit, with one
// line on standard error where the adapter has not spoken.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hook/rundir"
)

var version = "unknown" // set by the build

// The exit codes of weft-hook itself.
const (
	exitFailed = 1
	exitUsage  = 2
)

// looking is how long the time before the phase's limit is known may take.
const looking = 5 * time.Second

// lastWords is how long a line may take that nobody reads.
const lastWords = 50 * time.Millisecond

// maxLine bounds what weft-hook itself says, in bytes.
const maxLine = 2 << 10

const usage = "weft-hook [--dir RUNDIR] SCHEDULER PHASE [ARG...]"

func main() {
	began := time.Now()
	c := &call{env: syscall.Getenv, stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, began: began, uid: os.Geteuid()}
	if code, ok := c.arguments(os.Args[1:]); !ok {
		os.Exit(code)
	}
	// Reading a file and writing to a pipe know no deadline; this one knows no exception.
	c.watch = time.AfterFunc(looking, func() { c.die() })
	os.Exit(c.run())
}

// call is one run of a hook.
type call struct {
	dir       rundir.Dir
	scheduler string
	phase     string
	args      []string

	env            func(string) (string, bool)
	stdin          io.Reader
	stdout, stderr io.Writer
	began          time.Time
	uid            int
	watch          *time.Timer
}

// arguments reads the command line; ok is false when that is all there is to do.
func (c *call) arguments(args []string) (code int, ok bool) {
	f := flag.NewFlagSet("weft-hook", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	dir := f.String("dir", rundir.Default, "")
	shown := f.Bool("version", false, "")
	err := f.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprintf(c.stdout, "usage: %s\n\nA scheduler's hooks run it. RUNDIR is the run directory of the node's agent, %s unless given.\n", usage, rundir.Default)
		return 0, false
	case *shown:
		fmt.Fprintf(c.stdout, "weft-hook %s\n", version)
		return 0, false
	case err == nil && f.NArg() < 2:
		err = errors.New("SCHEDULER and PHASE must be given")
	case err == nil && *dir == "":
		err = errors.New("--dir: it has no name")
	}
	if err != nil {
		c.say("%v; usage: %s", err, usage)
		return exitUsage, false
	}
	c.dir, c.scheduler, c.phase, c.args = rundir.Dir(*dir), f.Arg(0), f.Arg(1), f.Args()[2:]
	return 0, true
}

// die ends a hook whose time is over, whatever it is at.
func (c *call) die() {
	said := make(chan struct{})
	go func() {
		c.say("it was not over within %s", time.Since(c.began).Round(time.Millisecond))
		close(said)
	}()
	select {
	case <-said:
	case <-time.After(lastWords):
	}
	os.Exit(exitFailed)
}

// say writes one line for a person.
func (c *call) say(format string, args ...any) {
	who := "weft-hook: "
	if c.phase != "" {
		who += core.Clip(c.scheduler) + " " + core.Clip(c.phase) + ": "
	}
	text := strings.Join(strings.Fields(who+fmt.Sprintf(format, args...)), " ")
	text = strings.Map(printable, text)
	if len(text) > maxLine {
		text = strings.ToValidUTF8(text[:maxLine], "") + "…"
	}
	fmt.Fprintln(c.stderr, text)
}

// fail says err in one line.
func (c *call) fail(err error) int {
	c.say("%s", core.AsError(err).Line())
	return exitFailed
}

// printable keeps outside text from playing with a terminal.
func printable(r rune) rune {
	if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
		return '?'
	}
	return r
}
