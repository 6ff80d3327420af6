// Command weft-hook is what a scheduler's hooks exec: it carries one hook's call to the node's agent and says what the adapter answers.
//
//	weft-hook [--dir RUNDIR] [--say PREFIX] SCHEDULER PHASE [ARG...]
//
// It knows no scheduler: what each phase needs, the agent left in its run directory. Whatever happens, it is over within the phase's time limit, with one
// line where the adapter has not spoken: on standard error, or with --say on standard output behind PREFIX, where only that reaches anybody.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hook/rundir"
)

var version = "unknown" // set by the build

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

const usage = "weft-hook [--dir RUNDIR] [--say PREFIX] SCHEDULER PHASE [ARG...]"

func main() {
	began := time.Now()
	signal.Ignore(syscall.SIGPIPE) // a hook whose output nobody reads fails only where it must be read
	c := &call{env: syscall.Getenv, stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, began: began, uid: os.Geteuid()}
	if code, ok := c.arguments(os.Args[1:]); !ok {
		os.Exit(code)
	}
	// Reading a file and writing to a pipe know no deadline; this one knows no exception.
	c.watch = time.AfterFunc(looking, func() { c.die() })
	os.Exit(c.run())
}

type call struct {
	dir       rundir.Dir
	scheduler string
	phase     string
	args      []string
	before    string // what stands before a failure's line on standard output; empty: it goes to standard error

	env            func(string) (string, bool)
	stdin          io.Reader
	stdout, stderr io.Writer
	began          time.Time
	uid            int
	watch          *time.Timer
	failed         sync.Once
	drains         bool   // the scheduler may drain the node when the hook fails
	of             string // the job that the hook is about
}

// arguments reads the command line; ok is false when that is all there is to do.
func (c *call) arguments(args []string) (code int, ok bool) {
	f := flag.NewFlagSet("weft-hook", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	dir := f.String("dir", rundir.Default, "")
	shown := f.Bool("version", false, "")
	before := f.String("say", "", "")
	err := f.Parse(args)
	c.before = *before
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprintf(c.stdout, "usage: %s\n\nThe hooks of a scheduler run weft-hook. RUNDIR is the run directory of the\n"+
			"node's agent (default %s).\n"+
			"With --say, the reason of a failure goes to standard output after PREFIX,\n"+
			"for a scheduler that shows its users no other output of a hook.\n", usage, rundir.Default)
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
		c.complain("%v; usage: %s", err, usage)
		return exitUsage, false
	}
	c.dir, c.scheduler, c.phase, c.args = rundir.Dir(*dir), f.Arg(0), f.Arg(1), f.Args()[2:]
	return 0, true
}

// die ends a hook whose time is over, whatever it is at.
func (c *call) die() {
	said := make(chan struct{})
	go func() {
		c.last("it was not over within %s", time.Since(c.began).Round(time.Millisecond))
		close(said)
	}()
	select {
	case <-said:
	case <-time.After(lastWords):
	}
	os.Exit(exitFailed)
}

// say writes one line for a person who looks at what a hook says.
func (c *call) say(format string, args ...any) { c.line(c.stderr, "", format, args...) }

// complain writes the line that says why the hook fails, where its caller has said that somebody sees it.
func (c *call) complain(format string, args ...any) {
	if c.before == "" {
		c.say(format, args...)
		return
	}
	c.line(c.stdout, c.before, format, args...)
}

func (c *call) line(to io.Writer, before, format string, args ...any) {
	who := "weft-hook: "
	if c.phase != "" {
		who += core.Clip(c.scheduler) + " " + core.Clip(c.phase) + ": "
	}
	text := strings.Join(strings.Fields(who+fmt.Sprintf(format, args...)), " ")
	text = strings.Map(printable, text)
	if len(text) > maxLine {
		text = strings.ToValidUTF8(text[:maxLine], "") + "…"
	}
	fmt.Fprintln(to, before+text)
}

func (c *call) fail(err error) int {
	c.last("%s", core.AsError(err).Line())
	return exitFailed
}

// last says why the hook fails, once: its time may be over while it says what it waited for.
// What a failing hook of root's does to its node, the agent explains when it is back.
func (c *call) last(format string, args ...any) {
	c.failed.Do(func() {
		c.complain(format, args...)
		if c.drains {
			_ = c.dir.NoteUnanswered(time.Now(), c.scheduler, core.Clip(c.phase)+" of job "+cmp.Or(c.of, "?")+": "+fmt.Sprintf(format, args...))
		}
	})
}

// printable keeps outside text from playing with a terminal.
func printable(r rune) rune {
	if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
		return '?'
	}
	return r
}
