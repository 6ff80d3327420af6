package flux

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
)

func TestShares(t *testing.T) {
	for text, want := range map[string][]core.Placement{
		// Recording 01.
		`{"version":1,"execution":{"R_lite":[{"rank":"0-1","children":{"core":"0-1"}}],"nslots":4,"nodelist":["node[01-02]"]}}`: {{Hosts: "node[01-02]", Nodes: 2, Cores: 2}},
		// Names belong to ranks in ascending order, however R_lite is grouped and whatever the order of the names.
		`{"version":1,"execution":{"R_lite":[{"rank":"3,7","children":{"core":"0-3,8","gpu":"0"}},{"rank":"5","children":{"core":"1"}}],"nodelist":["n9","n[3,1]"]}}`: {
			{Hosts: "n[1,9]", Nodes: 2, Cores: 5}, {Hosts: "n3", Nodes: 1, Cores: 1},
		},
		`{"version":1,"execution":{"R_lite":[{"rank":"0","children":{"gpu":"0-1"}}],"nodelist":["n1"]}}`: {{Hosts: "n1", Nodes: 1, Cores: 1}},
		// Two brokers on one host, as `flux start --test-size` has them without fake names.
		`{"version":1,"execution":{"R_lite":[{"rank":"0-1","children":{"core":"0"}}],"nodelist":["n1,n1"]}}`: {{Hosts: "n1", Nodes: 1, Cores: 2}},
	} {
		var r resources
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Fatal(err)
		}
		cores, err := r.cores()
		got := shares(cores, nil)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}

func TestResourcesThatAreNone(t *testing.T) {
	for _, text := range []string{
		`{}`, `{"version":1,"execution":{}}`, `{"version":2,"execution":{"R_lite":[{"rank":"0"}],"nodelist":["n1"]}}`,
		`{"version":1,"execution":{"R_lite":[{"rank":"0-1"}],"nodelist":["n1"]}}`, `{"version":1,"execution":{"R_lite":[{"rank":"0"}],"nodelist":["n[1-2]"]}}`,
		`{"version":1,"execution":{"R_lite":[{"rank":"1-0"}],"nodelist":["n[1-2]"]}}`, `{"version":1,"execution":{"R_lite":[{"rank":"x"}],"nodelist":["n1"]}}`,
		`{"version":1,"execution":{"R_lite":[{"rank":"0","children":{"core":"0-99999999999"}}],"nodelist":["n1"]}}`,
		`{"version":1,"execution":{"R_lite":[{"rank":"0-999999"}],"nodelist":["n[0-999999]"]}}`,
		`{"version":1,"execution":{"R_lite":[{"rank":"0"}],"nodelist":["../n1"]}}`,
	} {
		var r resources
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Fatal(err)
		}
		if got, err := r.cores(); err == nil {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func TestIDSets(t *testing.T) {
	for text, want := range map[string]int{"0": 1, "0-3": 4, "[0-3,7]": 5, "1,3": 2, "": -1, "3-1": -1, "1,1": -1, "01": -1, "[1": -1, "1-": -1, "-1": -1, "0-1048576": -1, "0-1048575": 1 << 20} {
		s, err := parseIDs(text)
		if got := count(s); err == nil && got != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
}

func FuzzShares(f *testing.F) {
	f.Add([]byte(`{"version":1,"execution":{"R_lite":[{"rank":"3,7","children":{"core":"0-3,8"}},{"rank":"5","children":{"core":"1"}}],"nodelist":["n9","n[3,1]"]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var r resources
		if json.Unmarshal(text, &r) != nil {
			return
		}
		cores, err := r.cores()
		shares := shares(cores, nil)
		if err != nil {
			return
		}
		n := 0
		for _, s := range shares {
			if n += s.Nodes; s.Cores < 1 || s.Nodes < 1 {
				t.Errorf("%s: %+v", text, s)
			}
		}
		if n > maxNodes {
			t.Errorf("%s: %d nodes", text, n)
		}
	})
}
