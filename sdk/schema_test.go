package sdk_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/sdk"
)

type client struct {
	Host string `weft:",label"`
	Port uint16 `weft:"port" doc:"TCP port."`
}

type settings struct {
	NICs    int           `weft:"nics" min:"1" max:"16" doc:"How many NICs, 1 to 16."`
	Path    string        `weft:"path,required" doc:"A folder."`
	Wait    time.Duration `weft:"wait" max:"1m"`
	Loud    bool          `weft:"loud"`
	Tags    []string      `weft:"tags"`
	Clients []client      `weft:"client"`
	Other   map[string]int
}

func start() settings {
	return settings{NICs: 4, Wait: time.Second, Tags: []string{"a"}, Clients: []client{{Port: 80}}}
}

func TestSchemaOf(t *testing.T) {
	want := core.Schema{Fields: []core.Field{
		{Name: "nics", Kind: core.KindInt, Default: int64(4), Doc: "How many NICs, 1 to 16."},
		{Name: "path", Kind: core.KindString, Required: true, Doc: "A folder."},
		{Name: "wait", Kind: core.KindDuration, Default: time.Second},
		{Name: "loud", Kind: core.KindBool, Default: false},
		{Name: "tags", Kind: core.KindStrings, Default: []string{"a"}},
		{Name: "client", Kind: core.KindBlocks, Labels: 1, Block: core.Schema{Fields: []core.Field{
			{Name: "port", Kind: core.KindInt, Default: int64(80), Doc: "TCP port."},
		}}},
	}}
	if diff := cmp.Diff(want, sdk.SchemaOf(start())); diff != "" {
		t.Error(diff)
	}
	s := start()
	if diff := cmp.Diff(want, sdk.SchemaOf(&s)); diff != "" {
		t.Error(diff)
	}
}

func TestDecode(t *testing.T) {
	got := start()
	err := sdk.Decode(core.Values{
		"nics": int64(2), "path": "/x", "wait": 2 * time.Second, "loud": true, "tags": []string{"b", "c"},
		"client": []core.Values{{"label0": "one", "port": int64(1)}, {"label0": "two"}},
	}, &got)
	want := settings{NICs: 2, Path: "/x", Wait: 2 * time.Second, Loud: true, Tags: []string{"b", "c"}, Clients: []client{{"one", 1}, {"two", 80}}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestDecodeComplains(t *testing.T) {
	for _, tt := range []struct {
		values core.Values
		path   string
		want   string
	}{
		{core.Values{"nics": int64(0)}, "nics", "nics: 0: it must be 1 to 16"},
		{core.Values{"nics": int64(17)}, "nics", "nics: 17: it must be 1 to 16"},
		{core.Values{"nics": "4"}, "nics", "nics: string is of the wrong kind"},
		{core.Values{"wait": time.Hour}, "wait", "wait: 1h0m0s: it must be"},
		{core.Values{"size": int64(1)}, "size", "size: there is no such setting"},
		{core.Values{"Other": int64(1)}, "Other", "there is no such setting"},
		{core.Values{"client": []core.Values{{}, {"port": int64(math.MaxUint16 + 1)}}}, "client/1/port", "port: 65536: it must be 0 to 65535"},
		{core.Values{"client": []core.Values{{"port": int64(-1)}}}, "client/0/port", "port: -1"},
	} {
		got := start()
		err := sdk.Decode(tt.values, &got)
		at, ok := errors.AsType[*core.PathError](err)
		if !ok || strings.Join(at.Path, "/") != tt.path || !strings.Contains(err.Error(), tt.want) || core.AsError(err).Reason != core.BadConfig {
			t.Errorf("%v: %v", tt.values, err)
		}
	}
}

func TestSchemaOfRefusesWhatNoBlockHolds(t *testing.T) {
	for name, v := range map[string]any{
		"a map": struct {
			A map[string]int `weft:"a"`
		}{},
		"no name": struct {
			A int `weft:""`
		}{},
		"an unknown option": struct {
			A int `weft:"a,optional"`
		}{},
		"a number as label": struct {
			A int `weft:",label"`
		}{},
		"a bound of a string": struct {
			A string `weft:"a" min:"1"`
		}{},
		"a float": struct {
			A float64 `weft:"a"`
		}{},
		"no struct": 4,
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: it did not panic", name)
				}
			}()
			sdk.SchemaOf(v)
		}()
	}
}
