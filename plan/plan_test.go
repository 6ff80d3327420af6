package plan_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/weft-hpc/weft/plan"
)

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	site := filepath.Join(dir, "site.conf")
	if err := os.WriteFile(site, []byte("A=1\n"), 0o640); err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(dir, "weft", "hook")
	p := plan.Plan{Changes: []plan.Change{
		{Path: own, Text: []byte("#!/bin/sh\n"), Mode: 0o755},
		{Path: site, Text: []byte("A=2\n"), Was: []byte("A=1\n"), Site: true},
	}}
	refused := p
	refused.Findings = []plan.Finding{{Level: plan.Refusal}}
	if err := refused.Write(); err == nil {
		t.Error("a refused plan was written")
	}
	if _, err := os.Stat(own); err == nil {
		t.Error("a refused plan made a file")
	}
	if err := p.Write(); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]struct {
		text string
		mode os.FileMode
	}{own: {"#!/bin/sh\n", 0o755}, site: {"A=2\n", 0o640}, site + plan.Backup: {"A=1\n", 0o640}} {
		text, err := os.ReadFile(path)
		info, err2 := os.Stat(path)
		if err != nil || err2 != nil || string(text) != want.text || info.Mode() != want.mode {
			t.Errorf("%s: %q, %v, %v", path, text, err, err2)
		}
	}
	if err := p.Write(); err == nil {
		t.Error("a site's file that another process changed was changed")
	}
	gone := plan.Plan{Changes: []plan.Change{{Path: own, Gone: true, Own: true}}}
	if err := gone.Write(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Dir(own)); err == nil {
		t.Error("the empty folder stays")
	}
}

func TestWhat(t *testing.T) {
	for want, c := range map[string]plan.Change{"create": {}, "change": {Was: []byte{}}, "remove": {Gone: true}} {
		if got := c.Action(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
