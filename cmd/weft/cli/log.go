package cli

import (
	"bytes"
	"io"
	"log/slog"
	"os"
	"time"
)

// Waits for the reader of standard error.
const (
	logWait   = 50 * time.Millisecond // for a line of a daemon's log
	lastWords = 2 * time.Second       // for a program's last lines
)

// Log writes to standard error, and goes on where the reader of that has stopped. It waits 50 ms for a line to go out.
// Until it has gone out, further lines are lost. The next line says how many.
func Log() *slog.Logger {
	OutliveReaders()
	return slog.New(slog.NewTextHandler(stderr(logWait), nil))
}

func stderr(wait time.Duration) *patient {
	return &patient{to: os.Stderr, wait: wait, turn: make(chan struct{}, 1)}
}

// patient writes line by line, but never waits long. Its caller calls Write from one goroutine at a time.
type patient struct {
	to   io.Writer
	wait time.Duration // for the reader, at each line
	turn chan struct{} // has an element while a line goes out
	lost int
}

func (p *patient) Write(line []byte) (int, error) {
	select {
	case p.turn <- struct{}{}:
	default:
		p.lost++
		return len(line), nil
	}
	var b bytes.Buffer
	if p.lost > 0 {
		slog.New(slog.NewTextHandler(&b, nil)).Warn("nobody read the log for a while", "lost", p.lost)
		p.lost = 0
	}
	b.Write(line)
	out := make(chan struct{})
	go func() {
		_, _ = p.to.Write(b.Bytes())
		<-p.turn
		close(out)
	}()
	select {
	case <-out:
	case <-time.After(p.wait):
	}
	return len(line), nil
}
