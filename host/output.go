package host

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/throttle"
)

const (
	maxLine      = 64 << 10 // of a plugin's line that is looked at as JSON
	maxShown     = 4 << 10  // of a line or value that goes into the log
	maxAttrs     = 32       // of one line
	maxRemarks   = 3        // lines kept as last words
	maxHandshake = 8 << 10  // with AutoMTLS a certificate is in it

	// Lines of one life that go into the log: what is said at once, such as the stacks of a panic, and then a hundred a second. A loop that prints would fill
	// the disk that the daemon's own log is on.
	burst = 2000
	pace  = 10 * time.Millisecond
)

var handshake = regexp.MustCompile(`^\d+\|\d+\|(?:unix|tcp)\|`)

// output carries what a plugin prints into the daemon's log. Nothing that it can print stops it, or the plugin.
type output struct {
	log   *slog.Logger
	lines throttle.Lines

	mu      sync.Mutex
	remarks []string
}

func newOutput(log *slog.Logger) *output {
	return &output{log: log, lines: throttle.Lines{Burst: burst, Every: pace}}
}

// stdout hands the handshake over and reads on: what a C library prints there must not fill the pipe.
func (o *output) stdout(r io.Reader, told *io.PipeWriter) {
	b := bufio.NewReaderSize(r, maxLine)
	for {
		line, whole, err := nextLine(b)
		if whole && len(line) <= maxHandshake && handshake.Match(line) {
			_, _ = told.Write(append(line, '\n'))
			break
		}
		if len(line) > 0 {
			o.say(line, "stdout")
		}
		if err != nil {
			break
		}
	}
	_ = told.Close() // it never fails
	o.read(b, "stdout")
}

// read says every line until the end.
func (o *output) read(b *bufio.Reader, stream string) {
	for {
		line, _, err := nextLine(b)
		if len(line) > 0 {
			o.say(line, stream)
		}
		if err != nil {
			return
		}
	}
}

// nextLine is the next line up to the reader's size, and what is over is dropped; whole says that there was no more.
func nextLine(b *bufio.Reader) (line []byte, whole bool, err error) {
	part, err := b.ReadSlice('\n')
	line = bytes.Clone(bytes.TrimRight(part, "\r\n"))
	if err != bufio.ErrBufferFull { //nolint:errorlint // ReadSlice returns it as it is
		return line, true, err
	}
	rest := 0
	for err == bufio.ErrBufferFull { //nolint:errorlint // as above
		part, err = b.ReadSlice('\n')
		rest += len(part)
	}
	return fmt.Appendf(line[:maxShown], " … and %d bytes more", len(line)-maxShown+rest), false, err
}

// say puts one line into the log: hclog's JSON, which every SDK writes, with its level and attributes, and anything else as it stands.
func (o *output) say(line []byte, stream string) {
	level, text, attrs := slog.LevelInfo, "", []any{"stream", stream}
	var entry map[string]any
	if len(line) > 0 && line[0] == '{' && json.Unmarshal(line, &entry) == nil {
		text, _ = entry["@message"].(string)
		name, _ := entry["@level"].(string)
		level, attrs = levels[name], nil
		keys := slices.Sorted(maps.Keys(entry))
		for _, k := range keys[:min(len(keys), maxAttrs)] {
			if !strings.HasPrefix(k, "@") {
				attrs = append(attrs, k, clipped(fmt.Sprint(entry[k])))
			}
		}
	}
	if text == "" {
		text = string(line)
	}
	if strings.HasPrefix(text, "panic: ") || strings.HasPrefix(text, "fatal error: ") {
		level = slog.LevelError
	}
	text = clipped(text)
	if level >= slog.LevelInfo {
		o.mu.Lock()
		// A panic's first line says what happened, and what follows is where.
		if len(o.remarks) == 0 || !strings.HasPrefix(o.remarks[0], "panic: ") && !strings.HasPrefix(o.remarks[0], "fatal error: ") {
			if level == slog.LevelError {
				o.remarks = nil
			}
			o.remarks = append(o.remarks, brief(text))
			o.remarks = o.remarks[max(0, len(o.remarks)-maxRemarks):]
		}
		o.mu.Unlock()
	}
	if !o.log.Enabled(context.Background(), level) {
		return
	}
	leftOut, ok := o.lines.Take(time.Now())
	if !ok {
		return
	}
	if leftOut > 0 {
		attrs = append(attrs, core.LogLeftOut, leftOut)
	}
	o.log.Log(context.Background(), level, text, attrs...)
}

// last is what the plugin said last, in one line.
func (o *output) last() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.Join(o.remarks, " / ")
}

// brief is a line's beginning, for an error.
func brief(s string) string {
	const most = 200
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

func clipped(s string) string {
	if len(s) > maxShown {
		s = fmt.Sprintf("%s … and %d bytes more", s[:maxShown], len(s)-maxShown)
	}
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	return strings.Map(core.Shown, s)
}

// levels of hclog by name. A line of any other level is for information.
var levels = map[string]slog.Level{
	"trace": slog.LevelDebug, "debug": slog.LevelDebug, "warn": slog.LevelWarn, "error": slog.LevelError,
}
