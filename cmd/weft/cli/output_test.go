package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"os/user"
	"testing"

	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/hclfile"
)

// Every way to a terminal that a text of a plugin has: each verb takes one of these.
func TestShown(t *testing.T) {
	const evil = "a\x1b[2J\u009b\u202e\u2066\u200b\x7f\U000e0041\u00e9b"
	const cleaned = "a?[2J??????\u00e9b"
	const rows = evil + "\nup\tgood"
	const flat = cleaned + " up good"
	const escaped = `a\u001b[2J\u009b\u202e\u2066\u200b\u007f\udb40\udc41` + "\u00e9b"
	table := func(w io.Writer, text string) {
		Table(w, "A", []string{text}, func(s string) []string { return []string{s} })
	}
	finding := hclfile.Finding{Summary: rows, Detail: evil}
	for _, test := range []struct {
		name, want string
		write      func() error
	}{
		{"a list", "A\n" + flat + "\n", func() error { return Print(&Options{}, rows, table) }},
		{"a list as JSON", `"` + escaped + `"` + "\n", func() error { return Print(&Options{Output: "json"}, evil, table) }},
		{"a line of JSON", `"` + escaped + `"` + "\n", func() error { return JSONLine(evil) }},
		{"an error", "weft: " + flat + "\n", func() error { Complain(errors.New(rows)); return nil }},
		{"a finding", "error: " + flat + "\n         " + cleaned + "\n", func() error {
			Show([]hclfile.Finding{finding})
			return nil
		}},
	} {
		if got := written(t, test.write); got != test.want {
			t.Errorf("%s: %q, not %q", test.name, got, test.want)
		}
	}
	complete := Suggest(func(context.Context) []string { return []string{evil + "\t" + evil} })
	if got, _ := complete.each(&cobra.Command{}, nil, ""); len(got) != 1 || got[0] != cleaned+"\t"+cleaned {
		t.Errorf("a completion: %q", got)
	}
}

// written gives the text that f writes to standard output and standard error.
func written(t *testing.T, f func() error) string {
	t.Helper()
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	out, errs := os.Stdout, os.Stderr
	os.Stdout, os.Stderr = file, file
	err = f()
	os.Stdout, os.Stderr = out, errs
	text, bad := os.ReadFile(file.Name())
	if err := errors.Join(err, bad, file.Close()); err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Where the scheduler's name of a user was lost with a store, this host's is shown; a number is the last resort.
func TestAccount(t *testing.T) {
	me, err := user.Current()
	if err != nil {
		t.Skip(err)
	}
	for _, test := range []struct {
		name string
		uid  uint32
		want string
	}{
		{"ann", uint32(os.Getuid()), "ann"},
		{"", uint32(os.Getuid()), me.Username},
		{"", 4_000_000_001, "4000000001"},
	} {
		if got := Account(test.name, test.uid); got != test.want {
			t.Errorf("user %q, uid %d: %s, want %s", test.name, test.uid, got, test.want)
		}
	}
}
