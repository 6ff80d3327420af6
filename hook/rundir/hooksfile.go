package rundir

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/weft-hpc/weft/core"
)

// version of hooks.json. It is raised when the release before could no longer use the file; fields alone may be added without that.
const version = 1

// The file itself. A limit is written as a person writes it.
type (
	hooksFile struct {
		Version    int             `json:"version"`
		Node       string          `json:"node,omitempty"`
		Schedulers []schedulerFile `json:"schedulers"`
	}
	schedulerFile struct {
		Name   string      `json:"name"`
		Type   string      `json:"type"`
		Phases []phaseFile `json:"phases"`
	}
	phaseFile struct {
		Name      string   `json:"name"`
		Action    string   `json:"action"`
		Root      bool     `json:"root,omitempty"`
		Variables []string `json:"variables,omitempty"`
		Job       []string `json:"job,omitempty"`
		Step      []string `json:"step,omitempty"`
		First     []string `json:"first,omitempty"`
		Asks      []string `json:"asks,omitempty"`
		Stdin     int      `json:"stdin,omitempty"`
		Limit     string   `json:"limit"`
		Bypass    Reply    `json:"bypass"`
		Away      *Reply   `json:"away,omitempty"`
		Observe   bool     `json:"observe,omitempty"`
		Leave     Reply    `json:"leave,omitzero"`
	}
)

// Reply is a core.HookReply in a file.
type Reply struct {
	Stdout []byte `json:"stdout,omitempty"`
	Stderr []byte `json:"stderr,omitempty"`
	Exit   int    `json:"exit,omitempty"`
}

// Encode is the text of hooks.json.
func (h Hooks) Encode() ([]byte, error) {
	if err := h.check(); err != nil {
		return nil, err
	}
	f := hooksFile{Version: version, Node: h.Node, Schedulers: []schedulerFile{}}
	for _, s := range h.Schedulers {
		out := schedulerFile{Name: s.Name, Type: s.Type, Phases: []phaseFile{}}
		for _, p := range s.Phases {
			out.Phases = append(out.Phases, phaseFile{
				p.Name, p.Action.String(), p.Root, p.Variables, p.Job, p.Step, p.First, p.Asks, p.Stdin, p.Limit.String(),
				Reply(p.Bypass), (*Reply)(p.Away), p.Observe, Reply(p.Leave),
			})
		}
		f.Schedulers = append(f.Schedulers, out)
	}
	text, err := json.MarshalIndent(f, "", " ")
	if err == nil && len(text) >= MaxHooks {
		err = core.Errorf(core.BadConfig, "hooks of this node: they take %d bytes and there may be %d", len(text), MaxHooks)
	}
	return append(text, '\n'), err
}

// ParseHooks reads the text of hooks.json.
func ParseHooks(text []byte) (Hooks, error) {
	if len(text) > MaxHooks {
		return Hooks{}, core.Errorf(core.BadConfig, "it has %d bytes and there may be %d", len(text), MaxHooks)
	}
	var f hooksFile
	if err := json.Unmarshal(text, &f); err != nil {
		return Hooks{}, core.Errorf(core.BadConfig, "it is not the JSON that was expected: %w", err)
	}
	if f.Version != version {
		return Hooks{}, core.Errorf(core.BadVersion, "it has version %d and this weft-hook knows %d", f.Version, version)
	}
	h := Hooks{Node: f.Node, Schedulers: slices.Grow([]Scheduler(nil), len(f.Schedulers))}
	for _, s := range f.Schedulers {
		out := Scheduler{Name: s.Name, Type: s.Type, Phases: slices.Grow([]Phase(nil), len(s.Phases))}
		for _, p := range s.Phases {
			limit, err := time.ParseDuration(p.Limit)
			if err != nil {
				return Hooks{}, core.Errorf(core.BadConfig, "phase %q: its limit: %w", core.Clip(p.Name), err)
			}
			out.Phases = append(out.Phases, Phase{
				core.HookPhase{
					Name: p.Name, Action: action(p.Action), Root: p.Root, Variables: p.Variables, Job: p.Job, Step: p.Step, First: p.First,
					Asks: p.Asks, Stdin: p.Stdin, Limit: limit,
				}, core.HookReply(p.Bypass), (*core.HookReply)(p.Away), p.Observe, core.HookReply(p.Leave),
			})
		}
		h.Schedulers = append(h.Schedulers, out)
	}
	return h, h.check()
}

// action is the Action of a name; zero for none.
func action(name string) core.Action {
	for a := core.Prepare; a <= core.Room; a++ {
		if a.String() == name {
			return a
		}
	}
	return 0
}
