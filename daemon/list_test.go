package daemon

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/hook/listener"
	"github.com/weft-hpc/weft/server"
	"github.com/weft-hpc/weft/store/memory"
)

// BenchmarkList lists 60,000 reservations page by page, as any user may. A page holds the writer up, and with
// it every grant, for a part of its time.
func BenchmarkList(b *testing.B) {
	const live, nodes = 60_000, 1024
	r := serve(b, memory.New(), newBatch(), nil)
	defer r.stop()
	r.attend(b, nodes)
	r.reserve(b, 0, live, 64, nodes)
	verbs := &server.Verbs{Server: r.Server, Sizes: func() map[string]int { return nil }}
	for _, verb := range []string{"jobs", "vnis"} {
		b.Run(verb, func(b *testing.B) {
			pages := 0
			var most time.Duration
			for b.Loop() {
				rows := 0
				for cursor, more := "", true; more; {
					began := time.Now()
					out, err := verbs.Handle(b.Context(), core.Peer{UID: owner}, hook.Request{Verb: verb, Cursor: cursor})
					most = max(most, time.Since(began))
					if err != nil {
						b.Fatal(err)
					}
					page := out.(listener.Page)
					var some []json.RawMessage
					b.StopTimer()
					if err := json.Unmarshal(page.Body.(json.RawMessage), &some); err != nil {
						b.Fatal(err)
					}
					b.StartTimer()
					rows += len(some)
					pages++
					cursor, more = page.Next, page.Next != ""
				}
				if rows != live {
					b.Fatalf("%d rows, want %d", rows, live)
				}
			}
			b.ReportMetric(b.Elapsed().Seconds()*1000/float64(pages), "ms/page")
			b.ReportMetric(float64(most.Microseconds())/1000, "ms-page-most")
		})
	}
	b.Run("job", func(b *testing.B) {
		body, _ := json.Marshal(server.JobArgs{Job: scheduler + "/77"})
		for b.Loop() {
			if _, err := verbs.Handle(b.Context(), core.Peer{UID: owner}, hook.Request{Verb: "job", Body: body}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("status", func(b *testing.B) {
		for b.Loop() {
			if _, err := verbs.Handle(b.Context(), core.Peer{UID: owner}, hook.Request{Verb: "status"}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func TestListsTellEachReservationOnce(t *testing.T) {
	const live = 5000
	r := serve(t, memory.New(), newBatch(), nil)
	defer r.stop()
	r.attend(t, 16)
	r.reserve(t, 0, live, 64, 16)
	verbs := &server.Verbs{Server: r.Server}
	for _, verb := range []string{"jobs", "vnis"} {
		seen, pages := map[string]bool{}, 0
		for cursor, more := "", true; more; pages++ {
			out, err := verbs.Handle(t.Context(), core.Peer{UID: owner}, hook.Request{Verb: verb, Cursor: cursor})
			if err != nil {
				t.Fatal(err)
			}
			page := out.(listener.Page)
			var rows []struct{ Job string }
			if err := json.Unmarshal(page.Body.(json.RawMessage), &rows); err != nil {
				t.Fatal(err)
			}
			for _, row := range rows {
				if seen[row.Job] {
					t.Errorf("%s: job %s is told twice", verb, row.Job)
				}
				seen[row.Job] = true
			}
			cursor, more = page.Next, page.Next != ""
		}
		if len(seen) != live || pages < 2 {
			t.Errorf("%s: %d of %d in %d pages; want all, in more than one", verb, len(seen), live, pages)
		}
	}
	for _, job := range []string{"77", scheduler + "/77"} {
		body, _ := json.Marshal(server.JobArgs{Job: job})
		out, err := verbs.Handle(t.Context(), core.Peer{}, hook.Request{Verb: "job", Body: body})
		if err != nil {
			t.Fatal(err)
		}
		var details []server.JobDetail
		err = json.Unmarshal(out.(listener.Page).Body.(json.RawMessage), &details)
		if err != nil || len(details) != 1 || details[0].Job != "77" {
			t.Errorf("job %q: %+v, %v", job, details, err)
		}
	}
	for _, cursor := range []string{"x", "-1", "99999999999999999999999"} {
		for _, verb := range []string{"jobs", "vnis"} {
			if _, err := verbs.Handle(t.Context(), core.Peer{}, hook.Request{Verb: verb, Cursor: cursor}); core.AsError(err) == nil {
				t.Errorf("%s: a list went on at %q", verb, cursor)
			}
		}
	}
}
