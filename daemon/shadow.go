package daemon

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hclfile"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/policy"
	"github.com/weft-hpc/weft/policy/compare"
	"github.com/weft-hpc/weft/server"
)

// VerbShadow is the call of `weft policy apply --shadow`.
const VerbShadow = "shadow"

// Bounds of a policy that decides beside the one in force, in bytes.
const (
	MaxShadow = 1 << 20  // its text
	maxPacked = 45 << 10 // the same as it travels: it comes in one request
)

// ShadowArgs say what becomes of the policy that decides beside the one in force; nothing said, it is only asked for what it has seen.
type ShadowArgs struct {
	Text []byte `json:"text,omitempty"` // PackPolicy of one that begins
	Off  bool   `json:"off,omitempty"`
}

// PackPolicy makes a policy small enough for a request.
func PackPolicy(p *policy.Policy) ([]byte, error) {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := io.WriteString(w, p.Text())
	if e := w.Close(); err == nil {
		err = e
	}
	if err == nil && (len(p.Text()) > MaxShadow || out.Len() > maxPacked) {
		err = core.Errorf(core.BadCall, "shadow: the policy has %d bytes, packed %d; it may have %d, packed %d", len(p.Text()), out.Len(), MaxShadow, maxPacked).
			WithRemedy("`weft policy diff OLD NEW --jobs FILE` has no such bound")
	}
	return out.Bytes(), err
}

func unpackPolicy(packed []byte) ([]hclfile.Source, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, core.Errorf(core.BadCall, "shadow: the policy cannot be unpacked: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(r, MaxShadow+1))
	if err != nil {
		return nil, core.Errorf(core.BadCall, "shadow: the policy cannot be unpacked: %w", err)
	}
	if len(text) > MaxShadow {
		return nil, core.Errorf(core.BadCall, "shadow: the policy has more than %d bytes", MaxShadow)
	}
	files, err := policy.Split(string(text))
	if err != nil {
		return nil, core.Errorf(core.BadCall, "shadow: %w", err)
	}
	return files, nil
}

// shade is the policy that decides beside the one in force, if one does.
type shade struct {
	srv   *server.Server
	live  func() *Site
	log   *slog.Logger
	audit *slog.Logger

	mu    sync.Mutex
	is    *compare.Shadow
	files []hclfile.Source
}

func (s *shade) verb(_ context.Context, peer core.Peer, req hook.Request) (any, error) {
	var args ShadowArgs
	if err := req.Decode(&args); err != nil {
		return nil, err
	}
	var files []hclfile.Source
	if len(args.Text) > 0 && !args.Off {
		var err error
		if files, err = unpackPolicy(args.Text); err != nil {
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
		site := s.live()
		p, findings := policy.Load(files, Env(site.Config))
		if p == nil {
			return nil, hclfile.AsError(findings)
		}
		s.end()
		s.is, s.files = compare.NewShadow(p, site.Policy), files
		s.srv.SetShadow(s.is)
		out, why = s.report(), "beside the policy in force"
	}
	s.audit.Info(VerbShadow, core.LogUID, peer.UID, core.LogPID, peer.PID, core.LogCall, req.ID, core.LogPolicy, out.Policy, core.LogWhy, why)
	return out, nil
}

// ShadowChange begins what a reload says of the policy that decides beside the one in force.
const ShadowChange = "shadow: "

// reloaded goes on with what the configuration has by now. A policy that has come in force decides beside itself no more: it would never find a difference.
func (s *shade) reloaded() (changed []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.is == nil {
		return nil
	}
	site := s.live()
	p, findings := policy.Load(s.files, Env(site.Config))
	if p == nil {
		s.log.Warn("the policy that decides beside the one in force cannot do so any more: the configuration is another", core.LogError, hclfile.AsError(findings))
		s.end()
		return []string{ShadowChange + "ended: the configuration is another, and the policy that decided beside the one in force cannot any more; the log says why"}
	}
	if seen := s.is.Report(); p.Hash() == site.Policy.Hash() {
		s.end()
		why := fmt.Sprintf("ended: policy %.12s, which decided beside the one in force, is in force now; %d of %d jobs had got something else", seen.Policy, seen.Changed, seen.Jobs)
		s.log.Info(ShadowChange + why)
		s.audit.Info(VerbShadow, core.LogPolicy, seen.Policy, core.LogWhy, why)
		return []string{ShadowChange + why}
	}
	s.is.Turn(p, site.Policy)
	return nil
}

func (s *shade) report() compare.Shadowed {
	if s.is == nil {
		return compare.Shadowed{Groups: []compare.Group{}}
	}
	return s.is.Report()
}

// row is what status shows; nil: none decides beside.
func (s *shade) row() *server.ShadowRow {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.is == nil {
		return nil
	}
	r := s.is.Report()
	return &server.ShadowRow{Policy: r.Policy, Since: r.Since, Jobs: r.Jobs, Changed: r.Changed, Dropped: r.Dropped}
}

func (s *shade) end() {
	if s.is != nil {
		s.srv.SetShadow(nil)
		s.is.Close()
		s.is, s.files = nil, nil
	}
}

func (s *shade) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end()
	return nil
}
