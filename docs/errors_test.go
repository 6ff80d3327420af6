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

Every error that Weft reports reads *what: which: why*, and then what to do about it. It has a **reason**, one stable word that scripts, logs and metrics
can rely on: it never changes its meaning and is never used again for another. This page explains each one.

The **scope** says whom a failure belongs to, and so what happens next:

| scope | whose failure it is | the job | the node |
|---|---|---|---|
| job | the job asked for what it cannot have | ends with the message, where its user sees it | stays in service |
| system | Weft cannot serve now | waits or goes back to the queue, where its scheduler can do that | stays in service |
| node | this node is at fault | starts again elsewhere, as its scheduler does after a failed prolog | drained, with the reason |
| none | a call or a file was wrong; no job is concerned | – | – |

Only scope node ever takes a node out of service: a refused user must not cost a site a node. Weft fails closed: whatever the scope, no task runs
without its isolation. Root's way out while Weft itself is broken is ` + "`weft agent bypass --until TIME`" + `.

The **code** is the kind of an error: the gRPC status that a plugin returns for it, or is given.

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
				fmt.Fprintf(&b, "\n### %s\n\nScope %v, code %v.\n\n**It means:** %s.\n\n**What to do:** %s.\n", a.Reason, a.Scope, a.Code, a.Mean, a.Remedy)
			}
		}
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
