// Package shadow keeps a policy that decides beside the one in force, and counts where the two differ.
package shadow

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/daemon/settings"
	"github.com/weft-hpc/weft/hclfile"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/policy"
	"github.com/weft-hpc/weft/policy/compare"
	"github.com/weft-hpc/weft/server"
)

// Verb is the call of `weft policy apply --shadow`.
const Verb = "shadow"

// Bounds of a policy that decides beside the one in force, in bytes.
const (
	MaxText   = 1 << 20  // its text
	maxPacked = 45 << 10 // the same as it travels: it comes in one request
)

// Args say what becomes of the policy that decides beside the one in force; nothing said, it is only asked for what it has seen.
type Args struct {
	Text []byte `json:"text,omitempty"` // Pack of one that begins
	Off  bool   `json:"off,omitempty"`
}

// Pack makes a policy small enough for a request.
func Pack(p *policy.Policy) ([]byte, error) {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := io.WriteString(w, p.Text())
	err = errors.Join(err, w.Close())
	if err == nil && (len(p.Text()) > MaxText || out.Len() > maxPacked) {
		err = core.Errorf(core.BadCall, "shadow: the policy has %d bytes, packed %d; it may have %d, packed %d", len(p.Text()), out.Len(), MaxText, maxPacked).
			WithRemedy("`weft policy diff OLD NEW --jobs FILE` has no such bound")
	}
	return out.Bytes(), err
}

func unpack(packed []byte) ([]hclfile.Source, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, core.Errorf(core.BadCall, "shadow: the policy cannot be unpacked: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(r, MaxText+1))
	if err != nil {
		return nil, core.Errorf(core.BadCall, "shadow: the policy cannot be unpacked: %w", err)
	}
	if len(text) > MaxText {
		return nil, core.Errorf(core.BadCall, "shadow: the policy has more than %d bytes", MaxText)
	}
	files, err := policy.Split(string(text))
	if err != nil {
		return nil, core.Errorf(core.BadCall, "shadow: %w", err)
	}
	return files, nil
}

// Policy is the policy that decides beside the one in force, if one does.
type Policy struct {
	Server *server.Server
	Site   func() *settings.Site // in force
	Log    *slog.Logger
	Audit  *slog.Logger

	mu    sync.Mutex
	is    *compare.Shadow
	files []hclfile.Source
}

func (s *Policy) Answer(_ context.Context, peer core.Peer, req hook.Request) (any, error) {
	var args Args
	if err := req.Decode(&args); err != nil {
		return nil, err
	}
	var files []hclfile.Source
	if len(args.Text) > 0 && !args.Off {
		var err error
		if files, err = unpack(args.Text); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.report()
	why := "off"
	switch {
	case args.Off:
		s.end()
	case files == nil:
		return out, nil
	default:
		site := s.Site()
		p, findings := policy.Load(files, settings.Env(site.Config))
		if p == nil {
			return nil, hclfile.AsError(findings)
		}
		s.end()
		s.is, s.files = compare.NewShadow(p, site.Policy), files
		s.Server.SetShadow(s.is)
		out, why = s.report(), "beside the policy in force"
	}
	s.Audit.Info(Verb, append(peer.Audited(req.ID, req.Right), core.LogPolicy, out.Policy, core.LogWhy, why)...)
	return out, nil
}

// changePrefix begins what a reload says of the policy that decides beside the one in force.
const changePrefix = "shadow: "

// Reloaded goes on with what the configuration has by now. A policy that has come in force decides beside itself no more: it would never find a difference.
func (s *Policy) Reloaded() (changed []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.is == nil {
		return nil
	}
	site := s.Site()
	p, findings := policy.Load(s.files, settings.Env(site.Config))
	if p == nil {
		s.Log.Warn("the policy that decides beside the one in force cannot do so any more: the configuration is another", core.LogError, hclfile.AsError(findings))
		s.end()
		return []string{changePrefix + "ended: the configuration is another, and the policy that decided beside the one in force cannot any more; the log says why"}
	}
	if seen := s.is.Report(); p.Hash() == site.Policy.Hash() {
		s.end()
		why := fmt.Sprintf("ended: policy %.12s, which decided beside the one in force, is in force now; %d of %d jobs had got something else", seen.Policy, seen.Changed, seen.Jobs)
		s.Log.Info(changePrefix + why)
		s.Audit.Info(Verb, core.LogPolicy, seen.Policy, core.LogWhy, why)
		return []string{changePrefix + why}
	}
	s.is.Turn(p, site.Policy)
	return nil
}

func (s *Policy) report() compare.Shadowed {
	if s.is == nil {
		return compare.Shadowed{Groups: []compare.Group{}}
	}
	return s.is.Report()
}

// Row is what status shows; nil: none decides beside.
func (s *Policy) Row() *server.ShadowRow {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.is == nil {
		return nil
	}
	r := s.is.Report()
	return &server.ShadowRow{Policy: r.Policy, Since: r.Since, Jobs: r.Jobs, Changed: r.Changed, Dropped: r.Dropped}
}

func (s *Policy) end() {
	if s.is != nil {
		s.Server.SetShadow(nil)
		s.is.Close()
		s.is, s.files = nil, nil
	}
}

func (s *Policy) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end()
	return nil
}
