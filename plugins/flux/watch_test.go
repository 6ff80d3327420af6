package flux

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/plugins/flux/broker"
	"github.com/weft-hpc/weft/plugins/flux/broker/brokertest"
)

// watched is a Watch whose words are read one by one.
type watched struct {
	t    *testing.T
	told chan core.Jobs
	done chan error
	stop context.CancelFunc
}

func watch(t *testing.T, p wired) *watched {
	ctx, stop := context.WithCancel(t.Context())
	w := &watched{t: t, told: make(chan core.Jobs), done: make(chan error, 1), stop: stop}
	go func() {
		w.done <- p.Watch(ctx, func(j core.Jobs) error {
			select {
			case w.told <- j:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	t.Cleanup(w.end)
	return w
}

func (w *watched) end() {
	w.stop()
	if err := <-w.done; !errors.Is(err, context.Canceled) {
		w.t.Errorf("the Watch ended with %v", err)
	}
	w.done <- context.Canceled
}

// next is what is told next that f wants.
func (w *watched) next(f func(core.Jobs) bool) core.Jobs {
	w.t.Helper()
	for {
		select {
		case j := <-w.told:
			if f(j) {
				return j
			}
		case err := <-w.done:
			w.done <- err
			w.t.Fatalf("the Watch ended: %v", err)
		}
	}
}

func asking(j core.Jobs) bool   { return j.Asking }
func complete(j core.Jobs) bool { return j.Complete }
func change(j core.Jobs) bool   { return !j.Complete && !j.Asking }

func running(id uint64, submitted, started int64) core.JobStatus {
	return core.JobStatus{
		Run:   core.Run{Key: key(formatID(id)), Fingerprint: core.Fingerprint{UID: 1000, Submitted: submitted}},
		State: core.JobRunning, Hosts: "node[01-02]", Started: started,
	}
}

// TestWatch: that it asks, then the backlog, then what happens, and the complete answer anew.
func TestWatch(t *testing.T) {
	p, b := adapter(t)
	submitted(b, one, nil)
	b.Submit(7, 1000, nil)
	b.Submit(9, 1000, nil)
	b.End(9) // over: no part of the backlog
	w := watch(t, p)
	if j := <-w.told; !j.Asking || j.Complete || j.Jobs != nil {
		t.Errorf("first: %+v", j)
	}
	got := <-w.told
	queued := core.JobStatus{Run: core.Run{Key: key(formatID(7)), Fingerprint: core.Fingerprint{UID: 1000, Submitted: brokertest.First + 1}}, State: core.JobQueued}
	want := core.Jobs{Complete: true, Jobs: []core.JobStatus{queued, running(one, brokertest.First, brokertest.First+1)}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	b.Alloc(7, []any{brokertest.Lite("0-1", "0")}, "node[01-02]")
	got = w.next(change)
	if diff := cmp.Diff([]core.JobStatus{running(7, brokertest.First+1, 0)}, got.Jobs, cmpopts.IgnoreFields(core.JobStatus{}, "Started")); diff != "" || got.Jobs[0].Started == 0 {
		t.Error(diff, got)
	}
	b.Post(7, "memo", map[string]string{"a": "b"}) // changes nothing
	b.End(7)
	// It is told as final, by a change or in the complete answer that came meanwhile, and then no more.
	got = w.next(func(j core.Jobs) bool { return !j.Asking && state(j, 7) == core.JobFinal })
	if len(got.Jobs) > 2 {
		t.Errorf("%+v", got)
	}
	w.next(asking)
	if got = w.next(complete); state(got, 7) != 0 || state(got, one) != core.JobRunning {
		t.Errorf("afterwards: %+v", got)
	}
	if n := b.Asked(topicJournal); n != 1 {
		t.Errorf("the journal was opened %d times", n)
	}
}

func state(j core.Jobs, id uint64) core.JobState {
	for _, s := range j.Jobs {
		if s.Job == formatID(id) {
			return s.State
		}
	}
	return 0
}

// TestACompleteAnswerIsAsYoungAsItsQuestion: what happened before the job manager was asked is in the answer, however far behind the reader was.
func TestACompleteAnswerIsAsYoungAsItsQuestion(t *testing.T) {
	p, b := adapter(t)
	submitted(b, one, nil)
	b.Before(func(topic string) {
		if topic == "job-manager.stats-get" {
			b.Submit(100, 1000, nil) // after the question was told and before it is answered
			b.Alloc(100, []any{brokertest.Lite("0-1", "0")}, "node[01-02]")
			b.Before(nil)
		}
	})
	w := watch(t, p)
	w.next(complete)
	w.next(asking)
	if got := w.next(func(j core.Jobs) bool { return !j.Asking }); !got.Complete || state(got, 100) != core.JobRunning {
		t.Errorf("%+v", got)
	}
}

// TestLiveJobsSurviveARestartOfTheBroker: flux-coral2 forgot its reservations then. Silence tells nothing; the new backlog has every job that lives, and what
// ended meanwhile is not in it.
func TestLiveJobsSurviveARestartOfTheBroker(t *testing.T) {
	for name, end := range map[string]func(*brokertest.Broker){"in order": (*brokertest.Broker).Stop, "a crash": (*brokertest.Broker).Crash} {
		t.Run(name, func(t *testing.T) {
			p, b := adapter(t)
			submitted(b, one, nil)
			submitted(b, 8, nil)
			w := watch(t, p)
			w.next(complete)
			ended := make(chan struct{})
			go func() { defer close(ended); end(b) }()
			seen := func(j core.Jobs) bool {
				if j.Complete && (state(j, one) != core.JobRunning || state(j, 8) != core.JobRunning) || change(j) && j.Silent == "" {
					t.Errorf("told while the broker goes: %+v", j)
				}
				return false
			}
			for over := false; !over; {
				select {
				case j := <-w.told:
					seen(j)
				case <-ended:
					over = true
				}
			}
			b.End(8)
			b.Starting(true)
			if err := b.Start(); err != nil {
				t.Fatal(err)
			}
			w.next(asking)
			w.next(asking) // the job manager was not there
			b.Starting(false)
			got := w.next(func(j core.Jobs) bool {
				if !j.Asking && !j.Complete {
					t.Errorf("a change before the backlog: %+v", j)
				}
				return j.Complete
			})
			if len(got.Jobs) != 1 || state(got, one) != core.JobRunning {
				t.Errorf("after the restart: %+v", got)
			}
		})
	}
}

func TestAGuestIsToldNothing(t *testing.T) {
	p, b := adapter(t)
	b.OwnedBy(stranger)
	submitted(b, one, nil)
	w := watch(t, p)
	for range 3 {
		if j := <-w.told; !j.Asking {
			t.Errorf("told %+v", j)
		}
		if j := <-w.told; !strings.Contains(j.Blind, "allow-root-owner") || j.Complete || j.Jobs != nil {
			t.Errorf("told %+v", j)
		}
	}
}

func TestAWatchEndsWithWhomItTells(t *testing.T) {
	p, b := adapter(t)
	submitted(b, one, nil)
	full := errors.New("full")
	for _, at := range []func(core.Jobs) bool{asking, complete} {
		if err := p.Watch(t.Context(), func(j core.Jobs) error {
			if at(j) {
				return full
			}
			return nil
		}); !errors.Is(err, full) {
			t.Errorf("%v", err)
		}
	}
}

// TestTheRecordedJournals reads what flux-core 0.88.0 sent, and holds the states against what happened then.
func TestTheRecordedJournals(t *testing.T) {
	for name, c := range map[string]struct {
		caughtUp int // jobs at the backlog's end
		states   []string
	}{
		"01-journal-2node-prolog-job": {0, []string{"ƒ9y6M3wD queued", "ƒ9y6M3wD running node[01-02]", "ƒ9y6M3wD final"}},
		"02-journal-full-backlog":     {0, nil},
		"04-journal-filter-live":      {0, []string{"ƒCPaQzkP queued", "ƒCPaQzkP running node[01-02]", "ƒCPaQzkP final"}},
		"06-journal-prolog-failure":   {0, []string{"ƒL9zLoUb queued", "ƒL9zLoUb running node[01-02]", "ƒL9zLoUb final"}},
		"17-journal-shutdown":         {0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			j := newJournal("tioga")
			var states []string
			for _, m := range recording(t, name) {
				if m.Errno() != 0 {
					continue
				}
				var e entry
				if err := json.Unmarshal(bytes.TrimSuffix(m.Payload, []byte{0}), &e); err != nil {
					t.Fatal(err)
				}
				if err := j.apply(e); err != nil {
					t.Fatal(err)
				}
				if e.ID == endOfBacklog {
					n := 0
					for _, s := range j.complete().Jobs {
						if s.State != core.JobFinal {
							n++
						}
					}
					if n != c.caughtUp || !j.caughtUp {
						t.Errorf("%d jobs live at the backlog's end", n)
					}
				}
				if j.caughtUp {
					for _, s := range j.changed().Jobs {
						states = append(states, strings.TrimSpace(s.Job+" "+s.State.String()+" "+s.Hosts))
					}
				}
			}
			if diff := cmp.Diff(c.states, states); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// recording is what the broker said in one.
func recording(t testing.TB, name string) []*broker.Message {
	t.Helper()
	text, err := os.ReadFile("broker/testdata/" + name + ".hex")
	if err != nil {
		t.Fatal(err)
	}
	var all []byte
	for l := range strings.Lines(string(text)) {
		if digits, ok := strings.CutPrefix(l, "S "); ok {
			b, err := hex.DecodeString(strings.TrimSpace(digits))
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, b...)
		}
	}
	var out []*broker.Message
	for r := bytes.NewReader(all[1:]); r.Len() > 0; {
		m, err := broker.ReadFrame(r)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, m)
	}
	return out
}

func TestARecordedEventlog(t *testing.T) {
	var f facts
	m := recording(t, "13-lookup")[0]
	if err := json.Unmarshal(bytes.TrimSuffix(m.Payload, []byte{0}), &f); err != nil {
		t.Fatal(err)
	}
	l, err := readEventlog(f.Eventlog)
	if want := (life{uid: 0, submitted: 1795817828, started: 1795817828, state: core.JobRunning, doomed: true}); err != nil || l != want {
		t.Errorf("%+v, %v", l, err)
	}
	if cores, err := f.R.cores(); err != nil || !cmp.Equal(shares(cores, nil), []core.Placement{{Hosts: "node01", Nodes: 1, Cores: 4}}) {
		t.Errorf("%+v, %v", cores, err)
	}
}

func FuzzJournal(f *testing.F) {
	for _, name := range []string{"01-journal-2node-prolog-job", "02-journal-full-backlog"} {
		for _, m := range recording(f, name) {
			f.Add(bytes.TrimSuffix(m.Payload, []byte{0}))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		j := newJournal("tioga")
		var e entry
		if json.Unmarshal(text, &e) != nil || j.apply(e) != nil {
			return
		}
		for _, s := range j.complete().Jobs {
			if core.CheckJobID(s.Job) != nil || s.State == 0 {
				t.Errorf("%q: %+v", text, s)
			}
		}
	})
}

func FuzzReadEventlog(f *testing.F) {
	f.Add(`{"timestamp":1.5,"name":"submit","context":{"userid":1000}}` + "\n" + `{"timestamp":2,"name":"exception","context":{"severity":0}}` + "\n")
	f.Fuzz(func(t *testing.T, text string) {
		if l, err := readEventlog(text); err == nil && (l.state < core.JobQueued || l.state > core.JobFinal || l.submitted < 0) {
			t.Errorf("%q: %+v", text, l)
		}
	})
}
