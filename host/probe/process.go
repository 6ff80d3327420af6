package probe

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/host"
	"github.com/weft-hpc/weft/sdk"
)

// Bounds of a process.
const (
	shaking = 10 * time.Second // from exec to the handshake: P1
	ending  = 5 * time.Second  // from the end of its standard input to SIGKILL
	maxLine = 64 << 10
	maxLog  = 4 << 20 // bytes of what it writes that are kept: the first
)

var handshake = regexp.MustCompile(`^\d+\|\d+\|(?:unix|tcp)\|`)

// process is a program that runs.
type process struct {
	*host.Run
	folder string
	shook  chan string // its handshake, once

	mu  sync.Mutex
	log strings.Builder
}

// start runs the program with the environment that a daemon gives it.
func start(p host.Program, folder string) (*process, error) {
	r := &process{Run: host.NewRun(p), folder: folder, shook: make(chan string, 1)}
	r.Cmd.Env = append([]string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"LC_ALL=C.UTF-8",
		"TMPDIR=" + folder,
		sdk.LevelKey + "=debug",
		sdk.CookieKey + "=" + sdk.CookieValue,
		"PLUGIN_UNIX_SOCKET_DIR=" + folder,
		fmt.Sprintf("PLUGIN_PROTOCOL_VERSIONS=%d", sdk.Protocol),
	}, p.Env...)
	err := r.Start(func(out io.Reader) { r.read(out, true) }, func(errs io.Reader) { r.read(errs, false) })
	if err != nil {
		return nil, core.Errorf(core.BadConfig, "plugin's program %s: it cannot be run: %w", p.Path, err)
	}
	return r, nil
}

// read keeps what it writes; of standard output the handshake is for the caller.
func (r *process) read(from io.Reader, shakes bool) {
	b := bufio.NewReaderSize(from, maxLine)
	for {
		line, err := b.ReadSlice('\n')
		if shakes && handshake.Match(line) {
			shakes = false
			r.shook <- strings.TrimSpace(string(line))
		} else if len(line) > 0 {
			r.mu.Lock()
			if r.log.Len() < maxLog {
				r.log.Write(line)
			}
			r.mu.Unlock()
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

func (r *process) logged() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.log.String()
}

// shake waits for its handshake.
func (r *process) shake(ctx context.Context) (string, error) {
	timer := time.NewTimer(shaking)
	defer timer.Stop()
	why := ""
	select {
	case line := <-r.shook:
		return line, nil
	case <-r.Dead:
		why = "it ended by itself"
		if r.Err != nil {
			why += ": " + r.Err.Error()
		}
	case <-timer.C:
		why = fmt.Sprintf("it printed no handshake in %s", shaking)
	case <-ctx.Done():
		why = context.Cause(ctx).Error()
	}
	if said := lastLine(r.logged()); said != "" {
		why += ": it said: " + said
	}
	return "", core.Errorf(core.PluginAway, "plugin's program %s: %s", r.Cmd.Path, why).WithRemedy("see P1 in docs/plugins.md for what it must print")
}

// end ends it: politely, then by its handle.
func (r *process) end() {
	r.Stdin.Close()
	timer := time.NewTimer(ending)
	defer timer.Stop()
	select {
	case <-r.Dead:
	case <-timer.C:
		_ = r.Cmd.Process.Kill()
		<-r.Dead
	}
	os.RemoveAll(r.folder)
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return core.Clip(lines[len(lines)-1])
}
