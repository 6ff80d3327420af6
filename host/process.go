package host

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/host/cgroup"
)

// process is one run of a program, as go-plugin's runner.Runner. Everything that it prints but the handshake is read here and never by go-plugin, whose
// scanner stops at a line of 64 KiB (the plugin then blocks in its next write for ever) and whose log parser panics at a line such as {"@message":1}.
type process struct {
	*Run
	output *output
	shake  *io.PipeReader
	bounds Bounds

	mu     sync.Mutex
	handle *os.Process // once it was started
	killed bool        // before it ended of another cause
	reason string      // why it was killed, when it was
}

// newProcess prepares a run, and its group below tree where there is one; its environment is set when go-plugin has
// made it.
func (p *Plugin) newProcess(tree *cgroup.Tree, name string) (*process, error) {
	r := &process{Run: NewRun(p.spec.Program), output: newOutput(p.log), bounds: p.bounds()}
	shown := fmt.Sprintf("memory %d MiB, watched", r.bounds.Memory>>20)
	if tree != nil {
		var err error
		if r.Group, err = tree.Make(name, r.bounds.Memory, r.bounds.Processes); err != nil {
			return nil, core.Errorf(core.InternalFault, "%s: cannot make its cgroup: %w", p.spec.title(), err)
		}
		shown = fmt.Sprintf("memory %d MiB, %d processes, %v", r.bounds.Memory>>20, r.bounds.Processes, tree)
	}
	p.change(func(s *Status) { s.Limit = shown })
	return r, nil
}

// Start starts it.
func (p *process) Start(context.Context) error {
	shake, told := io.Pipe()
	p.shake = shake
	err := p.Run.Start(
		func(out io.Reader) { p.output.stdout(out, told) },
		func(errs io.Reader) { p.output.read(bufio.NewReaderSize(errs, maxLine), "stderr") },
	)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.handle = p.Cmd.Process
	if p.reason != "" { // it is too late
		_ = p.handle.Kill()
	}
	if p.Group == nil {
		go p.watch()
	}
	return nil
}

// kill ends it at once, by its handle; reason is for people. It does not wait.
func (p *process) kill(reason string) {
	p.mu.Lock()
	select {
	case <-p.Ended:
	default:
		p.killed = true
	}
	if p.killed {
		p.reason = cmp.Or(p.reason, reason)
	}
	handle := p.handle
	p.mu.Unlock()
	if handle != nil {
		_ = handle.Kill() // os.ErrProcessDone is as well
	}
}

// ran reports whether there was ever a process.
func (p *process) ran() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.handle != nil
}

// why it is dead, for people.
func (p *process) why() string {
	<-p.Dead
	p.mu.Lock()
	said := p.reason
	p.mu.Unlock()
	if said == "" && p.starved {
		said = fmt.Sprintf("the kernel killed it: it may have %d MiB of memory", p.bounds.Memory>>20)
	} else if said == "" {
		said = "it ended by itself: exit status 0"
		if p.Err != nil {
			said = "it ended by itself: " + p.Err.Error()
		}
	}
	if words := p.output.last(); words != "" {
		said += ": its last words: " + words
	}
	return said
}

// Wait waits for its end.
func (p *process) Wait(context.Context) error {
	<-p.Dead
	return p.Err
}

// Kill is go-plugin's, which gives no reason: who asked go-plugin to do it may give one later.
func (p *process) Kill(context.Context) error {
	p.kill("")
	return nil
}

// Stdout has the handshake and nothing else.
func (p *process) Stdout() io.ReadCloser { return p.shake }

// Stderr has nothing: see process.
func (p *process) Stderr() io.ReadCloser { return io.NopCloser(strings.NewReader("")) }

// Name is the program's.
func (p *process) Name() string { return p.Cmd.Path }

// ID is the process's.
func (p *process) ID() string { return strconv.Itoa(p.Cmd.Process.Pid) }

// Diagnose says what it printed instead of a handshake.
func (p *process) Diagnose(context.Context) string { return p.output.last() }

// PluginToHost leaves addresses as they are.
func (p *process) PluginToHost(network, address string) (string, string, error) {
	return network, address, nil
}

// HostToPlugin leaves addresses as they are.
func (p *process) HostToPlugin(network, address string) (string, string, error) {
	return network, address, nil
}
