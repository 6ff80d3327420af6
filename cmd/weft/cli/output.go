package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"os/user"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hook"
)

// Print shows v as JSON, or by table. What could not be written is an error: a script must not take half a list for the whole.
func Print[T any](o *Options, v T, table func(io.Writer, T)) error {
	var out bytes.Buffer
	if o.Output == "json" {
		text, err := json.MarshalIndent(v, "", "  ")
		if err != nil {
			return fmt.Errorf("output: %w", err)
		}
		out.Write(append(escaped(text), '\n'))
	} else if o.Coloured {
		table(&out, v)
	} else {
		table(Shown(&out), v)
	}
	if _, err := out.WriteTo(os.Stdout); err != nil {
		return fmt.Errorf("output: %w", err)
	}
	return nil
}

// Closed finds that standard output was closed at the start. A shell opens /dev/null for writing alone; Go's place holder
// can be read, too. Verbs whose output is all that they are for ask it.
func Closed() error {
	flags, err := unix.FcntlInt(os.Stdout.Fd(), unix.F_GETFL, 0)
	if err == nil && flags&unix.O_ACCMODE == unix.O_RDWR && hook.Unread(os.Stdout) {
		err = errors.New("it is closed")
	}
	if err != nil {
		return fmt.Errorf("standard output: %w", err)
	}
	return nil
}

// escaped is JSON with an escape for each character in it that core.Shown hides: a reader gets the same text.
func escaped(text []byte) (out []byte) {
	for _, r := range string(text) {
		if core.Shown(r) == r {
			out = utf8.AppendRune(out, r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			out = fmt.Appendf(out, `\u%04x`, unit)
		}
	}
	return out
}

// Shown writes to w with core.Shown of each character. A write has whole characters.
func Shown(w io.Writer) io.Writer { return shown{w} }

type shown struct{ to io.Writer }

func (s shown) Write(text []byte) (int, error) {
	if _, err := s.to.Write(bytes.Map(core.Shown, text)); err != nil {
		return 0, err
	}
	return len(text), nil
}

// JSONLine shows v as one line of JSON.
func JSONLine(v any) error {
	text, err := json.Marshal(v)
	if err == nil {
		_, err = os.Stdout.Write(append(escaped(text), '\n'))
	}
	if err != nil {
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
			line[i] = cmp.Or(core.Flat(c), "-")
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

// OutliveReaders lets a program go on when nobody reads its output or its log any more. Go raises SIGPIPE for standard output
// and standard error unless somebody has asked for that signal, also where it was ignored at the start, as under systemd.
// The programs that it starts get the signal as usual.
func OutliveReaders() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }
