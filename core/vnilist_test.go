package core

import (
	"encoding/json"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestVNIListIsRangesInJSON(t *testing.T) {
	for want, l := range map[string]VNIList{
		`[]`: nil, `["4034"]`: {4034}, `["1","2"]`: {1, 2}, `["1024-1027","4034"]`: {1024, 1025, 1026, 1027, 4034},
	} {
		if got, err := json.Marshal(l); err != nil || string(got) != want {
			t.Errorf("%v: %s, %v", []VNI(l), got, err)
		}
	}
}

func TestVNIListReadsWhatItWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		vni := rapid.Custom(func(t *rapid.T) VNI { return VNI(rapid.Uint16Min(1).Draw(t, "vni")) })
		want := VNIList(rapid.SliceOf(vni).Draw(t, "vnis"))
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got VNIList
		if err := json.Unmarshal(text, &got); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v", text, []VNI(got), err)
		}
	})
}

// FuzzVNIList reads a list as a caller may send it.
func FuzzVNIList(f *testing.F) {
	for _, text := range []string{`["1-65535"]`, `["7-3"]`, `["0"]`, `["1-"]`, `[1]`, `["1-65535","1-65535"]`, `null`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var l VNIList
		if err := json.Unmarshal(text, &l); err != nil {
			return
		}
		if len(l) > 1<<16 || slices.Contains(l, 0) {
			t.Errorf("%s: %d VNIs", text, len(l))
		}
	})
}
