// Package docs holds the documents, and checks that those made from the program say what it says.
package docs

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
)

var update = flag.Bool("update", false, "write the documents anew")

const errorsHead = `# Errors

<!-- Made from core/reason.go by "make golden"; a test compares the two. -->

Every error of Weft reads *what: which: why*, and then the remedy. It has a **reason**, one stable word for scripts,
logs and metrics. A reason never changes its meaning, and no later release uses it for another. This page explains
each one.

The **scope** says who is at fault, and so what happens next:

| scope | who is at fault | the job | the node |
|---|---|---|---|
| job | the job asked for more than it may have | ends with the message, which its user sees | stays in service |
| system | Weft cannot serve now | waits or goes back to the queue, if its scheduler can do that | stays in service |
| node | this node is at fault | starts again elsewhere, as after any failed prolog | drained, with the reason |
| none | a call or a file was wrong; no job is concerned | – | – |

Only scope node takes a node out of service: a refused user must not cost a site a node. Weft fails closed: in every
scope, no task runs without its isolation. While Weft itself is broken, root can let jobs run without it:
` + "`weft agent bypass --until TIME`" + `.

The **code** is the kind of an error. It is the gRPC status between Weft and its plugins.

`

var classTitles = []struct {
	scope core.Scope
	title string
}{
	{core.ScopeJob, "The job's (scope job)"},
	{core.ScopeSystem, "Weft's (scope system)"},
	{core.ScopeNode, "The node's (scope node)"},
	{core.ScopeNone, "The caller's (scope none)"},
}

// errorsPage is docs/errors.md as it should be.
func errorsPage() string {
	var b strings.Builder
	b.WriteString(errorsHead)
	b.WriteString("| reason | scope | code |\n|---|---|---|\n")
	for _, a := range core.Reasons() {
		fmt.Fprintf(&b, "| [%s](#%s) | %v | %v |\n", a.Reason, a.Reason, a.Scope, a.Code)
	}
	for _, c := range classTitles {
		fmt.Fprintf(&b, "\n## %s\n", c.title)
		for _, a := range core.Reasons() {
			if a.Scope == c.scope {
				fmt.Fprintf(&b, "\n### %s\n\nScope %v, code %v.\n\n%s\n\n%s\n", a.Reason, a.Scope, a.Code,
					filled("**Meaning:** "+a.Mean+"."), filled("**Remedy:** "+a.Remedy+"."))
			}
		}
	}
	return b.String()
}

// filled breaks a paragraph into lines of at most 120 bytes.
func filled(text string) string {
	const most = 120
	var b strings.Builder
	line := 0
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
		case line+1+len(word) > most:
			b.WriteByte('\n')
			line = 0
		default:
			b.WriteByte(' ')
			line++
		}
		b.WriteString(word)
		line += len(word)
	}
	return b.String()
}

func TestErrorsPage(t *testing.T) {
	want := errorsPage()
	if *update {
		if err := os.WriteFile("errors.md", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile("errors.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("docs/errors.md is not what core says; run `make golden` (-core +page):\n%s", diff)
	}
}

func TestErrorsPageHasEveryReason(t *testing.T) {
	page := errorsPage()
	for _, a := range core.Reasons() {
		if n := strings.Count(page, "\n### "+string(a.Reason)+"\n"); n != 1 {
			t.Errorf("%s: has %d headings, want 1: its scope has no section", a.Reason, n)
		}
	}
}
