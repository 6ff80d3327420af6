package disktest

import (
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// disk has the files of one folder, as the program sees them and as they lie on the disk.
type disk struct {
	dir  string
	now  map[string]*file // by path, to the program
	kept map[string]*file // by path, on the disk
	told []string
}

// file is one file with the changes that no sync has made durable.
type file struct {
	kept    []byte
	changes []change
	size    int64 // to the program
	bad     bool  // a sync of it failed: no later one proves anything
}

// change is a write, or without text a new size.
type change struct {
	text []byte
	at   int64
}

func newDisk(dir string) *disk {
	return &disk{dir: dir, now: map[string]*file{}, kept: map[string]*file{}}
}

// call follows one line of a trace, such as fsync(3<PATH>) = 0, and reports whether a cut there is worth a look. All
// texts are hex, so no other sign has a meaning in them.
func (d *disk) call(line string) bool {
	name, rest, _ := strings.Cut(line, "(")
	args, result, _ := strings.Cut(rest, ")")
	failed := strings.Contains(result, "= -1")
	_, path, _ := strings.Cut(args, "<")
	path, _, _ = strings.Cut(path, ">")
	path = unescaped(path)
	var texts []string
	for i, text := range strings.Split(args, `"`) {
		if i%2 == 1 {
			texts = append(texts, unescaped(text))
		}
	}
	switch name {
	case "fsync", "fdatasync":
		d.sync(path, failed)
		return false
	}
	if failed {
		return false
	}
	switch name {
	case "write":
		if line, ok := strings.CutPrefix(texts[0], mark); ok {
			d.told = append(d.told, strings.TrimSpace(line))
			return true
		}
		if f := d.now[path]; f != nil {
			f.change([]byte(texts[0]), f.size)
		}
	case "pwrite64":
		if f := d.now[path]; f != nil {
			f.change([]byte(texts[0]), last(args))
		}
	case "ftruncate":
		if f := d.now[path]; f != nil {
			f.change(nil, last(args))
		}
	case "openat":
		if d.now[texts[0]] == nil && strings.Contains(args, "O_CREAT") && filepath.Dir(texts[0]) == d.dir {
			d.now[texts[0]] = &file{}
		}
	case "unlinkat":
		delete(d.now, texts[0])
	case "renameat", "renameat2":
		if f := d.now[texts[0]]; f != nil {
			d.now[texts[1]] = f
			delete(d.now, texts[0])
			return true
		}
	}
	return false
}

// sync makes a file's text durable, or the folder's names.
func (d *disk) sync(path string, failed bool) {
	if path == d.dir && !failed {
		clear(d.kept)
		for name, f := range d.now {
			d.kept[name] = f
		}
	}
	f := d.now[path]
	if f == nil {
		return
	}
	f.bad = f.bad || failed
	if !f.bad {
		f.kept, f.changes = f.text(func() bool { return true }), nil
	}
}

func (f *file) change(text []byte, at int64) {
	f.changes = append(f.changes, change{text, at})
	f.size = max(f.size, at+int64(len(text)))
	if text == nil {
		f.size = at
	}
}

// text has all that is durable, and of the other changes those that keep chooses.
func (f *file) text(keep func() bool) []byte {
	b := slices.Clone(f.kept)
	for _, c := range f.changes {
		if !keep() {
			continue
		}
		if end := int(c.at) + len(c.text); end > len(b) || c.text == nil {
			b = append(b, make([]byte, max(0, end-len(b)))...)[:max(end, 0)]
		}
		copy(b[c.at:], c.text)
	}
	return b
}

// write leaves in a folder what a power cut leaves here.
func (d *disk) write(to string, keep func() bool) error {
	names := d.kept
	if keep() {
		names = d.now
	}
	for path, f := range names {
		if err := os.WriteFile(filepath.Join(to, filepath.Base(path)), f.text(keep), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// last is the last number of a call's arguments.
func last(args string) int64 {
	n, _ := strconv.ParseInt(args[strings.LastIndex(args, " ")+1:], 0, 64)
	return n
}

func escaped(text string) (b []byte) {
	for _, c := range []byte(text) {
		b = fmt.Appendf(b, `\x%02x`, c)
	}
	return b
}

func unescaped(text string) string {
	b, _ := hex.DecodeString(strings.ReplaceAll(text, `\x`, ""))
	return string(b)
}
