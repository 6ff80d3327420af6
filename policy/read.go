package policy

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weft-hpc/weft/hclfile"
)

// Suffixes of file names in a policy's folder.
const (
	Suffix     = ".policy.hcl"
	TestSuffix = "_test.policy.hcl" // tests of the policy, which are no part of it
)

// NoFile is the summary of the finding that there is nothing to read.
const NoFile = "there is no policy file in the folder"

// Gather reads a policy's files and those of its tests. A path is a file or a folder. Of a folder it reads the files in
// the order of their names, and looks into no folder in it.
func Gather(paths []string) (files, tests []hclfile.Source, findings []hclfile.Finding) {
	for _, path := range paths {
		names, more := within(path)
		findings = append(findings, more...)
		for _, name := range names {
			into := &files
			if strings.HasSuffix(name, TestSuffix) {
				into = &tests
			}
			if len(*into) == MaxFiles {
				return files, tests, append(findings, hclfile.Finding{Severity: hclfile.Error, Summary: fmt.Sprintf("there are more than %d policy files", MaxFiles), File: path})
			}
			source, more := hclfile.Read(name)
			findings = append(findings, more...)
			if more == nil && !slices.ContainsFunc(*into, func(s hclfile.Source) bool { return s.Name == name }) {
				*into = append(*into, source)
			}
		}
	}
	if len(files) == 0 && findings == nil {
		findings = []hclfile.Finding{{Severity: hclfile.Error, Summary: NoFile, File: strings.Join(paths, ", "),
			Detail: "A policy file ends in " + Suffix + "."}}
	}
	return files, tests, findings
}

// within are the policy files that a path stands for.
func within(path string) ([]string, []hclfile.Finding) {
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil && strings.HasSuffix(path, Suffix) {
		return nil, []hclfile.Finding{{Severity: hclfile.Error, Summary: "the policy file cannot be read: " + err.Error(), File: path}}
	}
	if err != nil {
		return nil, []hclfile.Finding{{Severity: hclfile.Error, Summary: "the policy's folder cannot be read: " + err.Error(), File: path,
			Detail: `Name a file or folder that is there; where none is named, it is what config.hcl says: policy = "policy", as seen from config.hcl.`}}
	}
	var names []string
	for _, entry := range entries {
		if name := entry.Name(); strings.HasSuffix(name, Suffix) && !strings.HasPrefix(name, ".") {
			names = append(names, filepath.Join(path, name))
		}
	}
	return names, nil
}
