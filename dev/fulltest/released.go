package fulltest

import (
	"bytes"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// release names a release mark for which tests write values.
var release = flag.String("release", "", "write the values of this tree for a new release mark of this name")

// Released are the values that each release mark wrote as bytes. All later releases must read them. The lines of
// testdata/released/NAME.txt have them: TYPE HEX JSON. JSON is the value as JSON gives it.
type Released struct {
	t    testing.TB
	read map[string][]written // by type
	made bytes.Buffer         // for a new mark
}

type written struct{ path, hex, json string }

// ReadReleased reads the values of all release marks in the folder of the test's package.
func ReadReleased(t testing.TB) *Released {
	t.Helper()
	r := &Released{t: t, read: map[string][]written{}}
	paths, err := filepath.Glob("testdata/released/*.txt")
	if err != nil || len(paths) == 0 && *release == "" {
		t.Fatalf("testdata/released has no values: %v", err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			part := strings.SplitN(strings.TrimSpace(line), " ", 3)
			if len(part) != 3 {
				t.Fatalf("%s: a line is no TYPE HEX JSON: %q", path, line)
			}
			r.read[part[0]] = append(r.read[part[0]], written{path, part[1], part[2]})
		}
	}
	return r
}

// Check fails where decode refuses bytes of a type, or reads another value than their release had.
func (r *Released) Check(of string, decode func(wire []byte) (any, error)) {
	r.t.Helper()
	for _, w := range r.read[of] {
		wire, err := hex.DecodeString(w.hex)
		var value any
		if err == nil {
			value, err = decode(wire)
		}
		if err != nil {
			r.t.Errorf("%s: this release refuses a %s: %v", w.path, of, err)
			continue
		}
		now, err := JSON(value)
		if err != nil || now != w.json {
			r.t.Errorf("%s: this release reads a %s otherwise (-then +now): %v\n-%s\n+%s", w.path, of, err, w.json, now)
		}
	}
	delete(r.read, of)
}

// Making reports whether the test writes the values of a new mark.
func (r *Released) Making() bool { return *release != "" }

// Make adds a value to those of a new mark.
func (r *Released) Make(of string, wire []byte, value any) {
	r.t.Helper()
	text, err := JSON(value)
	if err != nil {
		r.t.Fatal(err)
	}
	fmt.Fprintf(&r.made, "%s %x %s\n", of, wire, text)
}

// Done fails where no Check read a type, and writes the values of a new mark.
func (r *Released) Done() {
	r.t.Helper()
	for of := range r.read {
		r.t.Errorf("testdata/released has values of type %s, and no test reads them", of)
	}
	if !r.Making() {
		return
	}
	path := filepath.Join("testdata", "released", *release+".txt")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, r.made.Bytes(), 0o644); err != nil {
		r.t.Fatal(err)
	}
}
