package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"os/user"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/weft-hpc/weft/core"
)

// Print shows v as JSON, or by table. What could not be written is an error: a script must not take half a list for the whole.
func Print[T any](o *Options, v T, table func(io.Writer, T)) error {
	var out bytes.Buffer
	if o.Output == "json" {
		enc := json.NewEncoder(&out)
		enc.SetIndent("", "  ")
		if err := enc.Encode(v); err != nil {
			return fmt.Errorf("output: %w", err)
		}
	} else {
		table(&out, v)
		if !o.Coloured {
			out = *bytes.NewBuffer(bytes.Map(core.Shown, out.Bytes()))
		}
	}
	if _, err := out.WriteTo(os.Stdout); err != nil {
		return fmt.Errorf("output: %w", err)
	}
	return nil
}

// Table prints a line for each of rows under a heading.
func Table[T any](w io.Writer, head string, rows []T, cells func(T) []string) {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	names := strings.TrimLeft(head, " ")
	fmt.Fprintln(t, head[:len(head)-len(names)]+strings.ReplaceAll(names, " ", "\t"))
	for _, r := range rows {
		line := cells(r)
		for i, c := range line {
			if c == "" {
				line[i] = "-"
			}
		}
		fmt.Fprintln(t, strings.Join(line, "\t"))
	}
	_ = t.Flush()
}

// Input opens a file; - is standard input.
func Input(path string) (io.ReadCloser, error) {
	if path == "-" {
		return io.NopCloser(os.Stdin), nil
	}
	return os.Open(path)
}

// Ago is a time as an administrator reads it.
func Ago(t time.Time) string {
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

// Date is a time in a layout of package time; empty where there is none.
func Date(t time.Time, layout string) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(layout)
}

// Account is a user by name: the scheduler's, or this host's where that is lost with the store that had it; by number where there is none.
func Account(name string, uid uint32) string {
	if name != "" {
		return name
	}
	known, ok := accounts[uid]
	if !ok {
		known = fmt.Sprint(uid)
		if u, err := user.LookupId(known); err == nil {
			known = u.Username
		}
		accounts[uid] = known
	}
	return known
}

// accounts are those that were looked up: a list has few users and many lines.
var accounts = map[uint32]string{}

func Plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprint(n, " ", what, "s")
}

// OutliveReaders lets a program go on when nobody reads its output or its log any more. Go raises SIGPIPE for standard output
// and standard error unless somebody has asked for that signal, also where it was ignored at the start, as under systemd.
// The programs that it starts get the signal as usual.
func OutliveReaders() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }
