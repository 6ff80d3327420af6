package slurm

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
)

func TestNote(t *testing.T) {
	text, err := note{Job: "7", Nodes: "n[1-3]", CPUs: "5,1(x2)"}.encode()
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"v":1,"job":"7","nodes":"n[1-3]","cpus":"5,1(x2)"}`; string(text) != want {
		t.Errorf("got %s, want %s", text, want)
	}
	n, err := readNote(text)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int{"n1": 5, "n2": 1, "n3": 1}, n.spread()); diff != "" {
		t.Error(diff)
	}
}

// A list that no note can hold must not fail the job: squeue has the nodes too.
func TestNoteOfAnIrregularJob(t *testing.T) {
	text, err := note{Job: "7", Nodes: strings.Repeat("n1,", core.MaxNote/3), CPUs: "1(x20000)"}.encode()
	if err != nil || len(text) > core.MaxNote {
		t.Fatalf("%d bytes, %v", len(text), err)
	}
	if n, err := readNote(text); err != nil || n.spread() != nil {
		t.Errorf("%+v, %v", n, err)
	}
}

func TestNoteSpreadNeedsListsThatMatch(t *testing.T) {
	for _, n := range []note{{}, {Nodes: "n1"}, {CPUs: "1"}, {Nodes: "n1", CPUs: "1(x2)"}, {Nodes: "n[1-2]", CPUs: "1"}, {Nodes: "n[", CPUs: "1"}, {Nodes: "n[1-999999999]", CPUs: "1(x999999999)"}} {
		if got := n.spread(); got != nil {
			t.Errorf("%+v: %v", n, got)
		}
	}
}

func TestReadNoteRefuses(t *testing.T) {
	for text, want := range map[string]core.Reason{
		"":                                    core.BadCall,
		"{}":                                  core.BadCall,
		`{"v":1}`:                             core.BadCall,
		`{"v":1,"job":"7;reboot"}`:            core.BadCall,
		`{"v":1,"job":"-1"}`:                  core.BadCall,
		`{"v":2,"job":"7"}`:                   core.BadVersion,
		`{"v":1,"job":"7"} `:                  "",
		strings.Repeat(" ", core.MaxNote+1):   core.BadCall,
		`{"v":1,"job":"4294967296"}`:          core.BadCall,
		`{"v":1,"job":"007"}`:                 core.BadCall,
		`{"v":1,"job":"7","later":"unknown"}`: "",
	} {
		_, err := readNote([]byte(text))
		if want == "" && err == nil {
			continue
		}
		checkError(t, err, want, "")
	}
}

func FuzzReadNote(f *testing.F) {
	for _, s := range []string{`{"v":1,"job":"7","nodes":"n[1-3]","cpus":"5,1(x2)"}`, `{"v":1,"job":"7","nodes":"n[1-","cpus":"(x"}`, "{}", "null", "[]"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		n, err := readNote(text)
		if err != nil {
			return
		}
		if err := checkJob(n.Job); err != nil {
			t.Error(err)
		}
		for _, cpus := range n.spread() {
			if cpus <= 0 {
				t.Errorf("%+v", n)
			}
		}
	})
}
