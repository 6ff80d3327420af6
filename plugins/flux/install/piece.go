package install

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/weft-hpc/weft/file"
	"github.com/weft-hpc/weft/plan"
)

// piece is a file of an installation as it lies on a host.
type piece struct {
	path   string
	says   map[string]string // the values of its template's places; nil: it is not of this release's template
	edited bool              // by hand, since it was written
}

// ours finds the file of the pattern that an installation wrote, by whatever name; one that can run comes first.
func ours(pattern, template string) (p piece, ok bool) {
	paths, _ := filepath.Glob(pattern) // in their order
	for _, path := range paths {
		text, err := file.Read(path, maxFile)
		if err != nil {
			continue
		}
		if own, intact := plan.IsSealed(text); own && (!ok || file.Runs(path) && !file.Runs(p.path)) {
			p, ok = piece{path: path, edited: !intact, says: places(template, string(text))}, true
		}
	}
	return p, ok
}

var place = regexp.MustCompile(`@([A-Z]+)@`)

// places undoes fill: it reads the values of the template's places from a text, without quotes. The last value of a
// name counts; nil: the text is not of that template.
func places(template, text string) map[string]string {
	var names []string
	pattern, last := strings.Builder{}, 0
	for _, at := range place.FindAllStringSubmatchIndex(template, -1) {
		names = append(names, template[at[2]:at[3]])
		pattern.WriteString(regexp.QuoteMeta(template[last:at[0]]) + "(.*?)")
		last = at[1]
	}
	pattern.WriteString(regexp.QuoteMeta(template[last:]))
	values := regexp.MustCompile("^" + pattern.String() + "(?:#|--) weft seal [0-9a-f]+\n$").FindStringSubmatch(text)
	if values == nil {
		return nil
	}
	says := map[string]string{}
	for i, name := range names {
		says[name] = unquote(values[i+1])
	}
	return says
}

// unquote undoes quote and luaQuote.
func unquote(s string) string {
	if q, ok := strings.CutPrefix(s, "'"); ok {
		return strings.ReplaceAll(strings.TrimSuffix(q, "'"), `'\''`, "'")
	}
	if q, err := strconv.Unquote(s); err == nil {
		return q
	}
	return s
}

// mentions reports that a file of the pattern has one of the words in a line, comments aside.
func mentions(pattern string, words ...string) bool {
	paths, _ := filepath.Glob(pattern)
	for _, path := range paths {
		text, _ := file.Read(path, maxFile)
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSpace(line)
			if strings.HasPrefix(line, "#") || strings.HasPrefix(line, "--") {
				continue
			}
			for _, word := range words {
				if strings.Contains(line, word) {
					return true
				}
			}
		}
	}
	return false
}

func there(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// everyone reports that every user can read a file: its mode, and those of all folders on the way to it.
func everyone(path string) bool {
	for need := os.FileMode(0o004); ; need = 0o001 {
		info, err := os.Stat(path)
		if err != nil || info.Mode()&need == 0 {
			return false
		}
		if up := filepath.Dir(path); up != path {
			path = up
			continue
		}
		return true
	}
}
