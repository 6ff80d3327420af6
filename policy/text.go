package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/weft-hpc/weft/hclfile"
)

// Hash is the SHA-256 of Text, in hex: what Decision.Policy holds.
func (p *Policy) Hash() string { return p.hash }

// Text is the files of the policy as one text, for the store: what a live reservation was decided by can be loaded again from it.
func (p *Policy) Text() string { return p.text }

const mark = "#! policy file "

func (p *Policy) seal(files []hclfile.Source) {
	var b strings.Builder
	for _, file := range files {
		fmt.Fprintf(&b, "%s%d %s\n%s\n", mark, len(file.Text), strconv.Quote(filepath.Base(file.Name)), file.Text)
	}
	p.text = b.String()
	sum := sha256.Sum256([]byte(p.text))
	p.hash = hex.EncodeToString(sum[:])
}

// Split takes a Text apart into the files it was made of.
func Split(text string) ([]hclfile.Source, error) {
	var files []hclfile.Source
	for text != "" {
		line, rest, _ := strings.Cut(text, "\n")
		head, ok := strings.CutPrefix(line, mark)
		size, quoted, _ := strings.Cut(head, " ")
		n, err1 := strconv.Atoi(size)
		name, err2 := strconv.Unquote(quoted)
		if !ok || err1 != nil || err2 != nil || n < 0 || n >= len(rest) || rest[n] != '\n' {
			return nil, fmt.Errorf("policy text: file %d of it: its first line or its length is wrong", len(files)+1)
		}
		files = append(files, hclfile.Source{Name: name, Text: []byte(rest[:n])})
		text = rest[n+1:]
	}
	return files, nil
}

// Restore makes a policy of its Text again. It was in force, so what it names of config.hcl was there, and may be gone by now.
func Restore(text string) (*Policy, error) {
	files, err := Split(text)
	if err != nil {
		return nil, err
	}
	p, findings := Load(files, Env{stored: true})
	return p, hclfile.AsError(findings)
}
