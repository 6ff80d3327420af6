package hclfile

import (
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// redefined is how HCL calls an attribute that is given twice.
const redefined = "Attribute redefined"

// maxFindings bounds what is said about the syntax of one file.
const maxFindings = 100

// File is a parsed file. Body is nil when the text could not be parsed at all.
type File struct {
	Source
	Body *hclsyntax.Body
	// Whole is that Body has all that the text says: nothing is wrong with the syntax but attributes that are given twice, of which it has the first.
	Whole bool

	starts []int // where lines begin; none when the file is too large
}

// Parse reads a source within the bounds of this package. Where the syntax is wrong, Body holds what could be understood, so that a caller can go on to
// find more.
func Parse(source Source) (file *File, findings []Finding) {
	file = &File{Source: source}
	if len(source.Text) <= MaxSize {
		file.starts = starts(source.Text)
	}
	if findings = file.text(); findings != nil {
		return file, findings
	}
	if findings = file.bounds(); findings != nil {
		return file, findings
	}
	defer func() {
		if fault := recover(); fault != nil {
			file.Body = nil
			findings = []Finding{{Severity: Error, Summary: "the parser gave up on this file", Detail: fmt.Sprint(fault), File: source.Name}}
		}
	}()
	parsed, diags := hclsyntax.ParseConfig(source.Text, source.Name, hcl.InitialPos)
	file.Body, _ = parsed.Body.(*hclsyntax.Body)
	file.Whole = file.Body != nil && !slices.ContainsFunc(diags, func(diag *hcl.Diagnostic) bool {
		return diag.Severity == hcl.DiagError && diag.Summary != redefined
	})
	return file, file.From(diags)
}

// At makes a finding about a range of the file.
func (f *File) At(severity Severity, at hcl.Range, summary, detail string) Finding {
	finding := Finding{Severity: severity, Summary: summary, Detail: detail, File: f.Name, Line: at.Start.Line, Column: at.Start.Column, Length: 1}
	if at.End.Line == at.Start.Line && at.End.Column > at.Start.Column {
		finding.Length = at.End.Column - at.Start.Column
	}
	if at.Start.Line > 0 {
		finding.Snippet = f.line(at.Start.Line)
		if at.End.Line > at.Start.Line {
			finding.Length = max(1, len([]rune(finding.Snippet))-at.Start.Column+1)
		}
	}
	return finding
}

// From makes findings of HCL's own diagnostics.
func (f *File) From(diags hcl.Diagnostics) []Finding {
	var findings []Finding
	for _, diag := range diags {
		if len(findings) == maxFindings {
			return append(findings, Finding{Severity: Notice, Summary: fmt.Sprintf("%d more are not shown", len(diags)-maxFindings), File: f.Name})
		}
		severity := Error
		if diag.Severity == hcl.DiagWarning {
			severity = Warning
		}
		var at hcl.Range
		if diag.Subject != nil {
			at = *diag.Subject
		}
		findings = append(findings, f.At(severity, at, Printable(diag.Summary, 200), Printable(diag.Detail, 1000)))
	}
	return findings
}
