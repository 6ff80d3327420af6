package hclfile

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weft-hpc/weft/core"
)

// Severity of a Finding.
type Severity uint8

// Severities, worst first. Only an Error keeps a file from being used.
const (
	Error Severity = iota
	Warning
	Notice
)

func (s Severity) String() string { return [...]string{"error", "warning", "notice"}[min(int(s), 2)] }

// MarshalText is the severity's word.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads the severity's word.
func (s *Severity) UnmarshalText(text []byte) error {
	for known := Error; known <= Notice; known++ {
		if known.String() == string(text) {
			*s = known
			return nil
		}
	}
	return fmt.Errorf("severity %q: there is no such severity", core.Clip(string(text)))
}

// Finding is one thing to say about a file. Line and Column count from 1; 0 when the finding is about the whole file. Column counts characters.
type Finding struct {
	Severity   Severity `json:"severity"`
	Summary    string   `json:"summary"`              // which: what is wrong, in one line
	Detail     string   `json:"detail,omitempty"`     // why, and what to do about it
	File       string   `json:"file,omitempty"`       // as it was named by the caller
	Line       int      `json:"line,omitempty"`       //
	Column     int      `json:"column,omitempty"`     //
	Length     int      `json:"length,omitempty"`     // characters of the snippet that are meant, from Column on
	Snippet    string   `json:"snippet,omitempty"`    // the line, made safe for a terminal
	Suggestion string   `json:"suggestion,omitempty"` // what was probably meant
}

// MaxFindings is how many Sort leaves.
const MaxFindings = 200

// Sort orders findings by file and place, drops those that say the same twice, and cuts what no person would read.
func Sort(findings []Finding) []Finding {
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Severity, b.Severity), cmp.Compare(a.Summary, b.Summary), cmp.Compare(a.Detail, b.Detail))
	})
	findings = slices.Compact(findings)
	if len(findings) <= MaxFindings {
		return findings
	}
	more := Finding{Severity: Notice, Summary: fmt.Sprintf("%d more are not shown", len(findings)-MaxFindings)}
	for _, f := range findings[MaxFindings:] {
		more.Severity = min(more.Severity, f.Severity)
	}
	return append(findings[:MaxFindings:MaxFindings], more)
}

// Failed reports whether an Error is among them.
func Failed(findings []Finding) bool {
	return slices.ContainsFunc(findings, func(f Finding) bool { return f.Severity == Error })
}

// AsError makes one error of the findings, for logs and for a caller that has one line: the first Error, and how many more there are. nil without any.
func AsError(findings []Finding) error {
	count, first := 0, -1
	for i, f := range findings {
		if f.Severity == Error {
			if count++; first < 0 {
				first = i
			}
		}
	}
	if count == 0 {
		return nil
	}
	line := findings[first].line()
	if count > 1 {
		line += fmt.Sprintf(" (and %d more)", count-1)
	}
	return core.Errorf(core.BadConfig, "%s", line)
}

func (f Finding) place() string {
	file := Printable(f.File, 4096)
	if f.Line == 0 {
		return file
	}
	return fmt.Sprintf("%s:%d:%d", file, f.Line, f.Column)
}

func (f Finding) line() string {
	line := f.Summary
	if f.Suggestion != "" {
		line += fmt.Sprintf("; did you mean %q?", f.Suggestion)
	}
	if place := f.place(); place != "" {
		line = place + ": " + line
	}
	return line
}
