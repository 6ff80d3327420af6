package core

import (
	"errors"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestCheckJobID(t *testing.T) {
	for _, tt := range []struct {
		name, id string
		ok       bool
	}{
		{"Slurm", "4034", true},
		{"Slurm array task", "4034_17", true},
		{"Flux f58", "ƒ2FxbqJSnx", true},
		{"Flux f58 in ASCII", "f2FxbqJSnx", true},
		{"Flux dotted hex", "0000.0000.0004.b000", true},
		{"PBS", "1234.pbs-server", true},
		{"PBS array", "1234[7].pbs-server", true},
		{"local", "x1000c0s0b0n0.12", true},
		{"the longest", strings.Repeat("7", MaxJobID), true},
		{"empty", "", false},
		{"one byte too long", strings.Repeat("7", MaxJobID+1), false},
		{"300 bytes", strings.Repeat("7", 300), false},
		{"300 bytes cut within a rune", strings.Repeat("ƒ", 150), false},
		{"newline", "7\n8", false},
		{"newline at the end", "7\n", false},
		{"NUL", "7\x00", false},
		{"tab", "7\t8", false},
		{"space", "7 8", false},
		{"no-break space", "7\u00a08", false},
		{"line separator", "7\u20288", false},
		{"C1 control", "7\u00858", false},
		{"right-to-left override", "7\u202e8", false},
		{"DEL", "7\x7f", false},
		{"escape", "\x1b[31m7", false},
		{"parent", "..", false},
		{"this folder", ".", false},
		{"path", "../7", false},
		{"backslash", `..\7`, false},
		{"flag of a command", "-7", false},
		{"not UTF-8", "7\xff", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := CheckJobID(tt.id)
			if (err == nil) != tt.ok {
				t.Fatalf("CheckJobID(%q) = %v, want ok = %v", tt.id, err, tt.ok)
			}
			if err != nil {
				checkRefusal(t, err)
			}
		})
	}
}

// checkRefusal checks that a refusal of outside text is safe in a log: it has the right code and is one short line.
func checkRefusal(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, Invalid) {
		t.Errorf("%v: its code is not invalid", err)
	}
	line := AsError(err).Line()
	if len(line) > 600 {
		t.Errorf("the message has %d bytes: a caller can fill the log", len(line))
	}
	for _, r := range line {
		if !unicode.IsPrint(r) {
			t.Errorf("%q: the message holds %q, so a caller can forge lines of the log", line, r)
		}
	}
}

func FuzzCheckJobID(f *testing.F) {
	seeds := []string{"4034_17", "ƒ2FxbqJSnx", "../7", "7\n8", "1234[7].pbs", "", "\xff", strings.Repeat("ƒ", 200)}
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, id string) {
		if err := CheckJobID(id); err != nil {
			checkRefusal(t, err)
			return
		}
		if id == "" || len(id) > MaxJobID || id == "." || id == ".." || id[0] == '-' ||
			strings.ContainsAny(id, "/\\ \t\r\n\x00") || !utf8.ValidString(id) {
			t.Errorf("CheckJobID(%q) accepts it", id)
		}
	})
}

func TestCheckName(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		limit    int
		ok       bool
	}{
		{"host", "nid001234", MaxNodeName, true},
		{"xname", "x1000c0s0b0n0", MaxNodeName, true},
		{"FQDN", "n1.example.org", MaxNodeName, true},
		{"cluster", "tioga_2-b", MaxScheduler, true},
		{"exactly at the limit", strings.Repeat("n", 64), 64, true},
		{"over the limit", strings.Repeat("n", 65), 64, false},
		{"empty", "", 64, false},
		{"hidden file", ".n1", 64, false},
		{"parent", "..", 64, false},
		{"flag", "-n1", 64, false},
		{"path", "n1/n2", 64, false},
		{"newline", "n1\n", 64, false},
		{"space", "n 1", 64, false},
		{"not ASCII", "ƒ1", 64, false},
		{"not UTF-8", "n\xff", 64, false},
		{"control and long", strings.Repeat("\x1b", 4096), 64, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := CheckName("node", tt.in, tt.limit)
			if (err == nil) != tt.ok {
				t.Fatalf("CheckName(%q) = %v, want ok = %v", tt.in, err, tt.ok)
			}
			if err != nil {
				checkRefusal(t, err)
			}
		})
	}
}

func TestClip(t *testing.T) {
	for in, want := range map[string]string{
		"":                             "",
		strings.Repeat("a", 64):        strings.Repeat("a", 64),
		strings.Repeat("a", 65):        strings.Repeat("a", 64) + "…",
		"a" + strings.Repeat("ƒ", 200): "a" + strings.Repeat("ƒ", 31) + "…",
	} {
		if got := Clip(in); got != want {
			t.Errorf("Clip(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestKeyString(t *testing.T) {
	k := Key{JobID{"tioga", "7"}, 0}
	if k.String() != "tioga/7" {
		t.Errorf("generation 0: %q", k)
	}
	k.Generation = 2
	if k.String() != "tioga/7#2" {
		t.Errorf("generation 2: %q", k)
	}
}
