package record_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/store/record"
)

// whole compares all that a record keeps. The cause inside an Error has no form as bytes. Ends of a Quota matters only
// before there is a reservation.
var whole = cmp.Options{cmpopts.IgnoreUnexported(core.Error{}), cmpopts.IgnoreFields(engine.Quota{}, "Ends")}

// grown is a record as a later release writes it, with a fact that this one does not know.
func grown(rec []byte) []byte {
	rec = append([]byte(nil), rec...)
	rec[1] |= 0x80
	return append(rec, 99, 3, 'n', 'e', 'w', 0, 0, 0, 5)
}

func roundTrip(t interface{ Fatalf(string, ...any) }, r engine.Record) engine.Record {
	b, err := record.Append(nil, r)
	if err != nil {
		t.Fatalf("Append: %v", err)
	}
	var d record.Decoder
	got, err := d.Decode(b)
	if err != nil {
		t.Fatalf("Decode: %v", err)
	}
	return got
}

// TestNoFieldIsLost fills every field by reflection: one that is added to a record without a place in its form fails here.
func TestNoFieldIsLost(t *testing.T) {
	t.Parallel()
	for _, zero := range zeros() {
		if d := cmp.Diff(zero, roundTrip(t, zero), whole); d != "" {
			t.Errorf("zero %T: %s", zero, d)
		}
		r := full(zero)
		if d := cmp.Diff(r, roundTrip(t, r), whole); d != "" {
			t.Errorf("%T has a field that its form loses: %s", r, d)
		}
	}
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := random(t)
		if d := cmp.Diff(r, roundTrip(t, r), whole); d != "" {
			t.Fatalf("%s", d)
		}
	})
}

// TestFactsAreNumbered fills every field: a form writes all its facts, and newest names the last.
func TestFactsAreNumbered(t *testing.T) {
	for _, zero := range zeros() {
		b, err := record.Append(nil, full(zero))
		if err != nil {
			t.Fatal(err)
		}
		numbers, newest := record.Facts(b)
		var want []uint64
		for n := range newest {
			want = append(want, n+1)
		}
		if d := cmp.Diff(want, numbers); d != "" {
			t.Errorf("facts of a %T (-newest +written): %s", zero, d)
		}
	}
}

func TestTimes(t *testing.T) {
	t.Parallel()
	for _, at := range []time.Time{{}, time.Unix(0, 0), time.Unix(-1, 999999999), time.Date(9999, 12, 31, 23, 59, 59, 1, time.FixedZone("x", 3600))} {
		got := roundTrip(t, engine.Transition{Since: at}).(engine.Transition).Since
		if !got.Equal(at) || got.IsZero() != at.IsZero() {
			t.Errorf("%v came back as %v", at, got)
		}
	}
}

// TestVersions reads the bytes of a record of each table as each version that this release reads wrote them, and writes
// the newest version the same. versionN.json has what the bytes mean: all values differ, but true does not differ from
// true, so versionN.flags has the place of each in its record. A fact is in no file, so a new one changes none.
func TestVersions(t *testing.T) {
	t.Parallel()
	for version := record.Oldest; version <= record.Version; version++ {
		path := fmt.Sprintf("testdata/version%d", version)
		meant, err := os.ReadFile(path + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var texts []json.RawMessage
		if err := json.Unmarshal(meant, &texts); err != nil {
			t.Fatal(err)
		}
		golden, err := os.ReadFile(path + ".hex")
		if err != nil {
			t.Fatal(err)
		}
		places, err := os.ReadFile(path + ".flags")
		if err != nil {
			t.Fatal(err)
		}
		var flags map[string]int
		if err := json.Unmarshal(places, &flags); err != nil {
			t.Fatal(err)
		}
		old := strings.Fields(string(golden))
		if len(old) != len(zeros()) || len(texts) != len(zeros()) {
			t.Fatalf("%s has %d records, and what %d mean", path, len(old), len(texts))
		}
		var d record.Decoder
		for i, zero := range zeros() {
			want := reflect.New(reflect.TypeOf(zero))
			strict := json.NewDecoder(bytes.NewReader(texts[i]))
			strict.DisallowUnknownFields()
			if err := strict.Decode(want.Interface()); err != nil {
				t.Fatalf("%s: %T: %v", path, zero, err)
			}
			b, err := hex.DecodeString(old[i])
			if err != nil {
				t.Fatal(err)
			}
			got, err := d.Decode(b)
			if err != nil {
				t.Errorf("%s: %T: %v", path, zero, err)
				continue
			}
			if d := cmp.Diff(want.Elem().Interface(), got, whole); d != "" {
				t.Errorf("%s: %T: %s", path, zero, d)
			}
			for field, flag := range trues(want.Elem(), fmt.Sprintf("%T", zero)) {
				at, known := flags[field]
				if !known || b[at] != 1 {
					t.Fatalf("%s.flags does not say where %s lies", path, field)
				}
				b[at] = 0
				flag.SetBool(false)
				got, err := d.Decode(b)
				if d := cmp.Diff(want.Elem().Interface(), got, whole); d != "" || err != nil {
					t.Errorf("%s: %s is not at byte %d: %v\n%s", path, field, at, err, d)
				}
				b[at] = 1
				flag.SetBool(true)
			}
			if again, _ := record.Append(nil, got); version == record.Version && !bytes.Equal(b, again) {
				t.Errorf("%T is written differently than %s.hex says: make the new field a fact, or raise record.Version", zero, path)
			}
		}
	}
}

// trues are the fields of v, however deep, that are true, by their paths.
func trues(v reflect.Value, path string) iter.Seq2[string, reflect.Value] {
	return func(yield func(string, reflect.Value) bool) {
		switch v.Kind() {
		case reflect.Bool:
			if v.Bool() {
				yield(path, v)
			}
		case reflect.Pointer:
			if !v.IsNil() {
				trues(v.Elem(), path)(yield)
			}
		case reflect.Slice, reflect.Array:
			for i := range v.Len() {
				trues(v.Index(i), fmt.Sprintf("%s[%d]", path, i))(yield)
			}
		case reflect.Struct:
			for i := range v.NumField() {
				if f := v.Type().Field(i); f.IsExported() {
					trues(v.Field(i), path+"."+f.Name)(yield)
				}
			}
		default:
		}
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	good, err := record.Append(nil, engine.Join{Serial: 300, Node: "n1", Boot: "b", Clean: true})
	if err != nil {
		t.Fatal(err)
	}
	changed := func(at int, to byte) []byte {
		b := append([]byte(nil), good...)
		b[at] = to
		return b
	}
	for name, c := range map[string]struct {
		b    []byte
		want core.Reason
	}{
		"nothing":           {nil, core.StoreCorrupt},
		"one byte":          {good[:1], core.StoreCorrupt},
		"version 0":         {changed(0, 0), core.StoreCorrupt},
		"newer version":     {changed(0, record.Version+1), core.StoreNewer},
		"no table":          {changed(1, 0), core.StoreCorrupt},
		"unknown table":     {changed(1, 99), core.StoreCorrupt},
		"cut":               {good[:len(good)-1], core.StoreCorrupt},
		"too long":          {append(good[:len(good):len(good)], 0), core.StoreCorrupt},
		"false count":       {changed(4, 0x7f), core.StoreCorrupt},
		"false truth":       {changed(len(good)-1, 2), core.StoreCorrupt},
		"number of 11 byte": {append([]byte{1, byte(engine.TableJoin)}, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1), core.StoreCorrupt},
		"state 256":         {[]byte{1, byte(engine.TableTransition), 0, 0x80, 0x02, 0, 0, 0}, core.StoreCorrupt},
	} {
		var d record.Decoder
		r, err := d.Decode(c.b)
		if e := core.AsError(err); e == nil || e.Reason != c.want {
			t.Errorf("%s: %v, %v", name, r, err)
		} else if e.Remedy == "" {
			t.Errorf("%s: %q says no way back", name, e.What)
		}
	}
	if _, err := record.Append(nil, engine.Delete{At: engine.Node{Name: "n"}.Slot()}); err == nil {
		t.Error("a Delete was encoded")
	}
	if _, err := record.Append(nil, engine.Text{Text: strings.Repeat("x", record.MaxSize)}); !errors.Is(err, core.Unavailable) {
		t.Errorf("a record that is too large: %v", err)
	}
}

func TestDecoderMakesEqualStringsOne(t *testing.T) {
	r := engine.Reservation{Job: core.Job{Queue: "batch", Account: "physics"}, Grant: engine.Decision{Policy: "0123456789abcdef", Rules: []string{"storage"}}}
	b, err := record.Append(nil, r)
	if err != nil {
		t.Fatal(err)
	}
	var d record.Decoder
	if _, err := d.Decode(b); err != nil {
		t.Fatal(err)
	}
	// What is left are the record, its boxing, and one list.
	if n := testing.AllocsPerRun(100, func() { _, _ = d.Decode(b) }); n > 4 {
		t.Errorf("a second record with the same words takes %v allocations", n)
	}
}

func FuzzDecode(f *testing.F) {
	for _, zero := range zeros() {
		for _, r := range []engine.Record{zero, full(zero)} {
			b, err := record.Append(nil, r)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(b)
			f.Add(grown(b))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var d record.Decoder
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r, err := d.Decode(b)
		runtime.ReadMemStats(&after)
		// The most a byte can stand for is a string of a list; other goroutines of the test binary have their share.
		if took := after.TotalAlloc - before.TotalAlloc; took > uint64(64*len(b))+256<<10 {
			t.Fatalf("%d bytes made it allocate %d", len(b), took)
		}
		if err != nil {
			if e := core.AsError(err); e.Reason != core.StoreCorrupt && e.Reason != core.StoreNewer {
				t.Fatalf("refused with %v", err)
			}
			return
		}
		again, err := record.Append(nil, r)
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		if kept, err := record.Keep(again, b); err == nil && kept != nil {
			again = kept
		}
		got, err := d.Decode(again)
		if err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
		if diff := cmp.Diff(r, got, whole); diff != "" {
			t.Fatal(diff)
		}
	})
}
