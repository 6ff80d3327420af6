package policy

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/weft-hpc/weft/hclfile"
)

// Suffixes of file names in a policy's folder.
const (
	Suffix     = ".policy.hcl"
	TestSuffix = "_test.policy.hcl" // tests of the policy, which are no part of it
)

// The summaries of the findings that there is nothing to read, and that there is always something else to read.
const (
	NoFile    = "there is no policy file in the folder"
	Exchanged = "the policy's folder is exchanged for another again and again"
)

// Gather reads a policy's files and those of its tests. A path is a file or a folder. Of a folder it reads the files in
// the order of their names, and looks into no folder in it.
func Gather(paths []string) (files, tests []hclfile.Source, findings []hclfile.Finding) {
	for _, path := range paths {
		sources, more := read(path)
		findings = append(findings, more...)
		for _, source := range sources {
			into := &files
			if strings.HasSuffix(source.Name, TestSuffix) {
				into = &tests
			}
			if slices.ContainsFunc(*into, func(s hclfile.Source) bool { return s.Name == source.Name }) {
				continue
			}
			if len(*into) == MaxFiles {
				return files, tests, append(findings, fault(path, fmt.Sprintf("there are more than %d policy files", MaxFiles)))
			}
			*into = append(*into, source)
		}
	}
	if len(files) == 0 && findings == nil {
		none := fault(strings.Join(paths, ", "), NoFile)
		none.Detail = "A policy file ends in " + Suffix + "."
		findings = []hclfile.Finding{none}
	}
	return files, tests, findings
}

// fault is a finding about a path as a whole.
func fault(path, summary string) hclfile.Finding {
	return hclfile.Finding{Severity: hclfile.Error, Summary: summary, File: path}
}

// read gives the policy files that a path stands for.
func read(path string) ([]hclfile.Source, []hclfile.Finding) {
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		source, findings := hclfile.Read(path)
		if findings != nil {
			return nil, findings
		}
		return []hclfile.Source{source}, nil
	}
	// After an exchange of folders the old one loses its files one by one, so a reading of it may lack some. It is
	// repeated while another folder has come in its place.
	for range 10 {
		folder, err := os.Open(path)
		if err != nil {
			return nil, []hclfile.Finding{unreadable(path, err)}
		}
		sources, findings := within(folder)
		was, err1 := folder.Stat()
		now, err2 := os.Stat(path)
		if folder.Close(); err1 != nil || err2 != nil || os.SameFile(was, now) {
			return sources, findings
		}
	}
	return nil, []hclfile.Finding{fault(path, Exchanged)}
}

func unreadable(path string, err error) hclfile.Finding {
	if strings.HasSuffix(path, Suffix) {
		return fault(path, "the policy file cannot be read: "+err.Error())
	}
	f := fault(path, "the policy's folder cannot be read: "+err.Error())
	f.Detail = `Name a file or folder that is there; where none is named, it is what config.hcl says: policy = "policy", as seen from config.hcl.`
	return f
}

// within reads the policy files of an open folder.
func within(folder *os.File) (sources []hclfile.Source, findings []hclfile.Finding) {
	entries, err := folder.ReadDir(-1)
	if err != nil {
		return nil, []hclfile.Finding{unreadable(folder.Name(), err)}
	}
	slices.SortFunc(entries, func(a, b os.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	for _, e := range entries {
		if name := e.Name(); strings.HasSuffix(name, Suffix) && !strings.HasPrefix(name, ".") && len(sources) <= 2*MaxFiles {
			source, more := hclfile.ReadIn(folder, name)
			if findings = append(findings, more...); more == nil {
				sources = append(sources, source)
			}
		}
	}
	return sources, findings
}
