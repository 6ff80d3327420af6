package install

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/file"
)

// What one slurm.conf may include.
const (
	maxFiles = 256
	maxDepth = 16
	maxAll   = 32 << 20 // bytes of all its files
)

// part is one file of the configuration.
type part struct {
	Path string
	Now  []byte // what it holds
	Base []byte // the same without anything of Weft's
	marks
}

// conf is slurm.conf with what it includes, as it is without Weft.
type conf struct {
	Files    []*part // the main one first
	Settings []setting
	Strange  []setting // lines that Slurm does not read either
}

// readConf reads slurm.conf and its includes. open gives a file's text.
func readConf(path string, open func(path string) ([]byte, error)) (*conf, error) {
	r := &reader{conf: &conf{}, open: open, size: maxAll}
	if err := r.file(path, 0); err != nil {
		return nil, err
	}
	return r.conf, r.given()
}

// given misses lines that Weft replaced and somebody has given back by hand. More than the block tells are no fault: a write may have been cut short.
func (c *conf) given() error {
	for _, f := range c.Files {
		if want := c.Files[0].Lost[c.short(f)]; f.Back < want {
			return edited(c.Files[0].Path, c.Files[0].Block, fmt.Sprintf("the block replaced %d lines of %s, and %d are marked there", want, f.Path, f.Back))
		}
	}
	return nil
}

// short names a file as seen from slurm.conf, so that a copy of the whole elsewhere is read the same.
func (c *conf) short(f *part) string {
	if rel, err := filepath.Rel(filepath.Dir(c.Files[0].Path), f.Path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return f.Path
}

type reader struct {
	*conf
	open func(path string) ([]byte, error)
	size int
}

func (r *reader) file(path string, depth int) error {
	switch {
	case depth > maxDepth:
		return core.Errorf(core.BadConfig, "%s: files include each other more than %d deep", path, maxDepth).WithRemedy("look whether one includes itself")
	case len(r.Files) == maxFiles:
		return core.Errorf(core.BadConfig, "%s: more than %d files are included", path, maxFiles)
	}
	text, err := r.open(path)
	if err != nil {
		return core.Errorf(core.BadConfig, "%s: %w", path, file.Bare(err)).WithRemedy("name slurm.conf with --conf, and run this where it and what it includes can be read")
	}
	if r.size -= len(text); r.size < 0 {
		return core.Errorf(core.BadConfig, "%s: the files have more than %d bytes in all", path, maxAll)
	}
	base, met, err := restore(path, text)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(r.Files, func(f *part) bool { return f.Path == path }) {
		r.Files = append(r.Files, &part{Path: path, Now: text, Base: base, marks: met})
	}
	lines, err := parse(path, base)
	if err != nil {
		return err
	}
	for _, s := range lines {
		switch {
		case s.Include != "":
			if err := r.file(r.beside(path, s.Include), depth+1); err != nil {
				return err
			}
		case s.Key == "":
			r.Strange = append(r.Strange, s.setting)
		default:
			r.Settings = append(r.Settings, s.setting)
		}
	}
	return nil
}

// beside is where an included file lies: %c is the cluster's name in lower case, and a relative name begins at the file that includes it.
func (r *reader) beside(path, name string) string {
	if strings.Contains(name, "%c") {
		cluster, _ := r.last("ClusterName")
		name = strings.ReplaceAll(name, "%c", strings.ToLower(cluster.Value))
	}
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(filepath.Dir(path), name)
}

// all lists the settings of a key in their order; keys have no case.
func (c *conf) all(key string) []setting {
	var out []setting
	for _, s := range c.Settings {
		if strings.EqualFold(s.Key, key) {
			out = append(out, s)
		}
	}
	return out
}

// last is the setting that Slurm uses where a key has one value.
func (c *conf) last(key string) (setting, bool) {
	all := c.all(key)
	if len(all) == 0 {
		return setting{}, false
	}
	return all[len(all)-1], true
}

// has reports whether a comma list has one of the words, in any case.
func (c *conf) has(key string, words ...string) bool {
	s, _ := c.last(key)
	for item := range strings.SplitSeq(s.Value, ",") {
		name, _, _ := strings.Cut(item, "=")
		for _, w := range words {
			if strings.EqualFold(strings.TrimSpace(name), w) {
				return true
			}
		}
	}
	return false
}

// seconds reads a number of seconds; ok is false where there is none, or none that ends.
func (c *conf) seconds(key string, without int) (n int, s setting, ok bool) {
	s, set := c.last(key)
	if !set {
		return without, s, without > 0
	}
	n, err := strconv.Atoi(s.Value)
	return n, s, err == nil && n >= 0 && n < 65534 // INFINITE and NO_VAL16 are 65535 and 65534
}

// readFile reads a regular file within the bound.
func readFile(path string) ([]byte, error) { return file.Read(path, maxText) }
