package server_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
)

// host is an agent on its host: it answers calls until it is dead.
type host struct {
	report core.Report
	dead   bool
	end    context.CancelFunc
	ended  chan error
}

func (s *system) host(t *testing.T, from, boot, agent string) *host {
	t.Helper()
	h := &host{report: core.Report{Number: 1, Boot: boot, Agent: agent, From: from, Full: true, Devices: []string{"cxi0"}}}
	h.attend(t, s)
	return h
}

func (h *host) attend(t *testing.T, s *system) {
	t.Helper()
	var ctx context.Context
	ctx, h.end = context.WithCancel(t.Context())
	ended := make(chan error, 1)
	h.ended = ended
	next := make(chan core.Report, 8)
	go func() {
		ended <- s.Attend(ctx, "n1", h.report, next, func(o core.Orders) {
			for _, c := range o.Calls {
				if !h.dead {
					next <- core.Report{Reply: &core.SchedulerReply{ID: c.ID, Err: core.Errorf(core.SchedulerAway, "it has none")}}
				}
			}
		})
	}()
	synctest.Wait()
}

// attends reports whether the host's session goes on; the error is why not.
func (h *host) attends() (bool, error) {
	synctest.Wait()
	select {
	case err := <-h.ended:
		h.ended <- err
		return false, err
	default:
		return true, nil
	}
}

func TestASecondHostIsRefusedWhileTheFirstAnswers(t *testing.T) {
	for name, agents := range map[string][2]string{
		"of this release": {"agent1", "agent2"}, "of a release that tells no two processes apart": {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log, change := logged(nil)
				s := start(t, change)
				defer s.stop()
				first := s.host(t, "10.0.0.1", "boot1", agents[0])
				second := s.host(t, "10.0.0.2", "boot2", agents[1])
				on, err := second.attends()
				if on || core.ReasonOf(err) != core.NodeDrained {
					t.Fatalf("the second host: %v", err)
				}
				for _, want := range []string{"10.0.0.1", "boot1", "10.0.0.2", "boot2"} {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("the refusal lacks %q: %v", want, err)
					}
				}
				for range 121 { // within two minutes
					time.Sleep(time.Second)
					second.attend(t, s)
				}
				refused := slices.DeleteFunc(log.with(core.TwinRemedy), func(line string) bool {
					return !strings.Contains(line, "level=WARN")
				})
				if len(refused) != 3 || !strings.Contains(refused[2], "left_out=59") {
					t.Errorf("the log says %q", refused)
				}
				if on, err := first.attends(); !on {
					t.Errorf("the first host's session ended: %v", err)
				}
				in := ask("7", "boot1")
				in.Agent = agents[0]
				if _, err := s.Reserve(t.Context(), "n1", in, core.Peer{}); core.ReasonOf(err) != core.NodeDrained {
					t.Errorf("a job is granted while two hosts have the certificate: %v", err)
				}
				found, err := s.Check(t.Context())
				want := []core.Finding{{
					Severity: core.Critical, What: "node n1: nothing of it is freed or granted",
					Evidence: core.TwinPrefix + "10.0.0.1 with boot boot1 and 10.0.0.2 with boot boot2", Remedy: core.TwinRemedy,
				}}
				if diff := cmp.Diff(want, found); diff != "" || err != nil {
					t.Errorf("the server's doctor: %v\n%s", err, diff)
				}
				first.end()
			})
		})
	}
}

// Once the second host comes no more, the first is in service again in the same boot.
func TestTheFirstHostHealsWithoutTheSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, nil)
		defer s.stop()
		first := s.host(t, "10.0.0.1", "boot1", "boot1")
		for range 3 {
			s.host(t, "10.0.0.2", "boot2", "boot2")
			time.Sleep(engine.DefaultRules.Away - time.Second)
			if on, err := first.attends(); !on {
				t.Fatalf("it is healed while the second host comes: %v", err)
			}
		}
		time.Sleep(2 * time.Second)
		if on, err := first.attends(); on || core.ReasonOf(err) != core.Cancelled {
			t.Fatalf("its session does not begin anew: %v", err)
		}
		first.attend(t, s)
		if _, err := s.Reserve(t.Context(), "n1", ask("7", "boot1"), core.Peer{}); err != nil {
			t.Error(err)
		}
		first.end()
	})
}

// A reboot can be so fast that the server has not noticed the end of the old session.
func TestAFastRebootReplacesASessionThatIsSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, nil)
		defer s.stop()
		old := s.host(t, "10.0.0.1", "boot1", "boot1")
		old.dead = true
		again := s.host(t, "10.0.0.1", "boot2", "boot2")
		time.Sleep(4 * time.Second)
		if on, err := old.attends(); !on {
			t.Fatalf("it was not asked: %v", err)
		}
		time.Sleep(time.Second)
		if on, err := again.attends(); !on {
			t.Fatal(err)
		}
		on, err := old.attends()
		if on {
			t.Error("two sessions of a node")
		}
		const host = " an agent at 10.0.0.1 with boot "
		for _, want := range []string{host + "boot1", host + "boot2", core.TwinRemedy} { // it may be a copied host
			if line := core.AsError(err).Line(); !strings.Contains(line, want) {
				t.Errorf("the first host hears %q, without %q", line, want)
			}
		}
		if _, err := s.Reserve(t.Context(), "n1", ask("7", "boot2"), core.Peer{}); err != nil {
			t.Error(err)
		}
		again.end()
	})
}

// The old session may end before its host answers.
func TestAFastRebootReplacesASessionThatEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, nil)
		defer s.stop()
		old := s.host(t, "10.0.0.1", "boot1", "boot1")
		old.dead = true
		again := s.host(t, "10.0.0.1", "boot2", "boot2")
		old.end()
		if on, err := again.attends(); !on {
			t.Fatal(err)
		}
		if _, err := s.Reserve(t.Context(), "n1", ask("7", "boot2"), core.Peer{}); err != nil {
			t.Error(err)
		}
		again.end()
	})
}

// The agent that comes again is not asked about its own session.
func TestTheSameProcessReplacesItsSessionAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, nil)
		defer s.stop()
		h := s.host(t, "10.0.0.1", "boot1", "boot1")
		old := *h
		h.attend(t, s)
		if on, err := old.attends(); on || strings.Contains(core.AsError(err).Line(), core.TwinRemedy) {
			t.Errorf("the older session: %v", err)
		}
		if on, err := h.attends(); !on {
			t.Error(err)
		}
		h.end()
	})
}
