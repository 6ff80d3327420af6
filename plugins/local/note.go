package local

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/weft-hpc/weft/core"
)

// Wish is what a user says to `weft run`: all that a caller's own words decide.
type Wish struct {
	User    string   `json:"user,omitempty"` // whose job it shall be; only root may name another than itself
	Options []string `json:"options,omitempty"`
}

// Note is what an agent knows of a job: the kernel's facts of the process that began it, and the owner's wish. It is made by Table.Begin and by nobody
// else, and is all that Describe needs where there is no Table.
type Note struct {
	UID       uint32   `json:"uid"`
	GID       uint32   `json:"gid"`
	User      string   `json:"user"`
	Groups    []string `json:"groups,omitempty"`
	Hosts     []string `json:"hosts"`     // the job's nodes, the first is the one where it began
	Cores     int      `json:"cores"`     // on each of them
	Submitted int64    `json:"submitted"` // when the process began, in Unix seconds
	Options   []string `json:"options,omitempty"`
}

// Encode is the note as it travels in core.Intent. One that is longer than core.MaxNote is refused, never cut: a missing group could miss a deny.
func (n Note) Encode() ([]byte, error) {
	b, err := json.Marshal(n)
	if err != nil {
		return nil, core.Errorf(core.InternalFault, "note of user %s: %w", core.Clip(n.User), err)
	}
	if len(b) > core.MaxNote {
		return nil, core.Errorf(core.BadRequest, "job of user %s: its groups, nodes and options have %d bytes and there may be %d", core.Clip(n.User), len(b), core.MaxNote)
	}
	return b, nil
}

// job is the note as policy's facts.
func (n Note) job(key core.Key) (core.Job, error) {
	r, err := ParseOptions(n.Options)
	if err != nil {
		return core.Job{}, err
	}
	return core.Job{
		Run:    core.Run{Key: key, Fingerprint: core.Fingerprint{UID: n.UID, Submitted: n.Submitted}},
		GID:    n.GID,
		User:   n.User,
		Groups: n.Groups,
		Placements: []core.Placement{{ // local jobs have no cores of their own, so none has a share of a node
			Hosts: strings.Join(n.Hosts, ","), Nodes: len(n.Hosts), Cores: n.Cores, Total: n.Cores,
		}},
		Request: r,
	}, nil
}

// readNote reads a note that came with a reservation; what it lacks no agent leaves out.
func readNote(key core.Key, text []byte, from core.Peer) (Note, error) {
	var n Note
	if len(text) > core.MaxNote {
		return n, core.Errorf(core.BadCall, "job %s: its note has %d bytes and there may be %d", key, len(text), core.MaxNote)
	}
	if err := json.Unmarshal(text, &n); err != nil {
		return n, core.Errorf(core.BadCall, "job %s: its note: %w", key, err)
	}
	node, _, err := splitJob(key.Job)
	if err != nil {
		return n, err
	}
	for _, h := range n.Hosts {
		if err := core.CheckName("node", h, core.MaxNodeName); err != nil {
			return n, err
		}
	}
	if len(n.Hosts) == 0 || n.Hosts[0] != node || n.Cores <= 0 || n.Submitted <= 0 || n.User == "" || n.UID == core.NoUID {
		return n, core.Errorf(core.BadCall, "job %s: its note is not one that an agent makes", key)
	}
	// The note is its bearer's word, and an agent's word is good for its own node: with another's job it would learn that one's VNIs. Jobs of several nodes
	// exist in `weft dev` only, which has the tables.
	if from.Node != "" && from.Node != node {
		return n, core.Errorf(core.NotPlaced, "job %s: node %s is none of its nodes", key, core.Clip(from.Node))
	}
	return n, nil
}

// jobName is the id of node's n-th job.
func jobName(node string, n uint64) string { return node + "." + strconv.FormatUint(n, 10) }

// splitJob is jobName undone; a node's name may have dots of its own.
func splitJob(id string) (node string, n uint64, err error) {
	if err := core.CheckJobID(id); err != nil {
		return "", 0, err
	}
	if dot := strings.LastIndexByte(id, '.'); dot > 0 {
		node = id[:dot]
		if n, err = strconv.ParseUint(id[dot+1:], 10, 64); err == nil && n > 0 && id == jobName(node, n) && core.CheckName("node", node, core.MaxNodeName) == nil {
			return node, n, nil
		}
	}
	return "", 0, core.Errorf(core.BadCall, "job %q: it is no id of a local job", core.Clip(id)).WithRemedy("a local job's id is NODE.N; see `weft jobs`")
}
