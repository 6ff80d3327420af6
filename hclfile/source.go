package hclfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"unicode/utf8"

	"github.com/weft-hpc/weft/file"
)

// MaxSize bounds a file, in bytes.
const MaxSize = 1 << 20

// Source is a file's text under the name that findings give it.
type Source struct {
	Name string
	Text []byte
}

// Read reads a regular file of at most MaxSize bytes.
func Read(path string) (Source, []Finding) { return read(path, path) }

// ReadIn is Read for a file of an open folder, whatever lies at the folder's path by now.
func ReadIn(folder *os.File, name string) (Source, []Finding) {
	return read(filepath.Join(folder.Name(), name), fmt.Sprintf("/proc/self/fd/%d/%s", folder.Fd(), name))
}

// read reads the file at way, which findings call path. It waits for nothing, whatever lies there.
func read(path, way string) (Source, []Finding) {
	whole := func(summary, detail string) (Source, []Finding) {
		return Source{Name: path}, []Finding{{Severity: Error, Summary: summary, Detail: detail, File: path}}
	}
	f, err := file.Open(way, os.O_RDONLY, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return whole("there is no such file", "Name the file with --config, or run the command where it lies.")
	case err != nil:
		return whole("it cannot be read: "+file.Bare(err).Error(), "")
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > MaxSize {
		return whole(tooLarge(info.Size()), "")
	}
	text, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err != nil {
		return whole("it cannot be read: "+file.Bare(err).Error(), "")
	}
	return Source{Name: path, Text: text}, nil
}

func tooLarge(size int64) string {
	return fmt.Sprintf("it has %d bytes, more than the %d (1 MiB) that a file may have", size, MaxSize)
}

// text refuses what no HCL file has: too much, NUL, bytes that are not UTF-8.
func (f *File) text() []Finding {
	if len(f.Text) > MaxSize {
		return []Finding{{Severity: Error, Summary: tooLarge(int64(len(f.Text))), File: f.Name}}
	}
	if at := bytes.IndexByte(f.Text, 0); at >= 0 {
		return []Finding{f.byteAt(at, "there is a NUL byte: this is no text file")}
	}
	if !utf8.Valid(f.Text) {
		for at := 0; at < len(f.Text); {
			r, n := utf8.DecodeRune(f.Text[at:])
			if r == utf8.RuneError && n == 1 {
				return []Finding{f.byteAt(at, "there is a byte that is not UTF-8")}
			}
			at += n
		}
	}
	return nil
}

func (f *File) byteAt(at int, summary string) Finding {
	before := f.Text[:at]
	line := bytes.Count(before, []byte("\n")) + 1
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	return Finding{Severity: Error, Summary: summary, File: f.Name, Line: line, Column: column, Length: 1, Snippet: f.line(line)}
}
