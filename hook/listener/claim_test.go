package listener

import (
	"context"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hook"
)

// A handler sees the caller's uid. It sees a claim only where the claim can be true: a call begins between the boot and
// now. A clean-up of the future would refuse every later prepare of its job.
func TestClaims(t *testing.T) {
	seen := make(chan hook.Request, 1)
	handler := func(_ context.Context, peer core.Peer, req hook.Request) (any, error) {
		if peer.UID != 7 {
			t.Errorf("a call of uid 7 has uid %d", peer.UID)
		}
		seen <- req
		return nil, nil
	}
	p, done := newPipes(), make(chan error, 1)
	server := &Server{Bounds: Bounds{Reply: 4096}, peer: pipePeer}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { done <- server.Serve(ctx, p, handler) }()
	defer func() { cancel(); <-done }()
	rapid.Check(t, func(t *rapid.T) {
		before := hook.Boottime()
		claim := hook.Request{Version: hook.Version, Verb: "claim", Room: 1 << 30}
		claim.ID = rapid.OneOf(rapid.StringMatching(`[a-z0-9]{1,64}`), rapid.String()).Draw(t, "id")
		claim.Began = rapid.OneOf(
			rapid.Int64(), rapid.Int64Range(0, before), rapid.Int64Range(before+int64(time.Hour), math.MaxInt64),
		).Draw(t, "began")
		out, err := hook.Frame(claim, hook.MaxRequest)
		if err != nil {
			t.Skip("no frame holds it")
		}
		c := p.dial(7)
		defer c.Close()
		if _, err := c.Write(out); err != nil {
			t.Fatal(err)
		}
		reply := make([]byte, 1)
		if _, err := c.Read(reply); err != nil {
			t.Fatal(err)
		}
		req, now := <-seen, hook.Boottime()
		past := claim.Began > 0 && claim.Began <= before
		if past && req.Began != claim.Began || !past && (req.Began < before || req.Began > now) {
			t.Fatalf("a call of %d claims that it began at %d, and the handler sees %d", before, claim.Began, req.Began)
		}
		if core.CheckName("id", req.ID, maxID) != nil || core.CheckName("id", claim.ID, maxID) == nil && req.ID != claim.ID {
			t.Fatalf("the handler sees the id %q of the claim %q", req.ID, claim.ID)
		}
		if req.Room > 4096 {
			t.Fatalf("the caller has %d bytes of room", req.Room)
		}
	})
}
