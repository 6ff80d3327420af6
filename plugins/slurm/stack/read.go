package stack

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/file"
)

// The bounds of one plugstack.conf.
const (
	maxFiles = 256
	maxText  = 1 << 20 // bytes of a file
	maxLine  = 4095    // bytes: Slurm takes what is beyond for another line
)

// Line is a line of plugstack.conf that loads a plugin.
type Line struct {
	File     string
	Number   int // from 1
	Required bool
	Plugin   string // its path; a relative one is looked for in slurm.conf's PluginDir
	Args     []string
}

// Stack is plugstack.conf and the files that it includes.
type Stack struct {
	Lines   []Line
	Ignored []Line // that Slurm does not understand, and passes over; Plugin is the text
}

// Loads lists the lines that load a plugin of that file name.
func (s Stack) Loads(name string) []Line {
	var out []Line
	for _, l := range s.Lines {
		if filepath.Base(l.Plugin) == name {
			out = append(out, l)
		}
	}
	return out
}

// Read reads a plugstack.conf. A missing one is an empty one, as for Slurm (_spank_stack_load, plugstack.c, 22.05.8).
func Read(path string) (Stack, error) {
	r := newReader()
	err := r.file(path)
	return r.out, err
}

// ReadWith is Read as if the file at path, but none that it includes, had another text.
func ReadWith(path string, text []byte) (Stack, error) {
	r := newReader()
	err := r.text(path, text)
	return r.out, err
}

func newReader() reader {
	return reader{open: func(path string) ([]byte, error) { return file.Read(path, maxText) }, glob: filepath.Glob}
}

type reader struct {
	open  func(path string) ([]byte, error)
	glob  func(pattern string) ([]string, error)
	out   Stack
	files int
}

func (r *reader) file(path string) error {
	if r.files++; r.files > maxFiles {
		return core.Errorf(core.BadConfig, "%s: more than %d files are included", path, maxFiles).
			WithRemedy("look whether one includes itself")
	}
	text, err := r.open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return core.Errorf(core.BadConfig, "%s: %w", path, file.Bare(err))
	}
	return r.text(path, text)
}

func (r *reader) text(path string, text []byte) error {
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		l, kind := parse(line)
		l.File, l.Number = path, number
		switch kind {
		case empty:
		case loads:
			r.out.Lines = append(r.out.Lines, l)
		case ignored:
			r.out.Ignored = append(r.out.Ignored, l)
		case includes:
			if err := r.include(path, l.Plugin); err != nil {
				return err
			}
		}
	}
	return nil
}

// include reads the files of a pattern, which begins at the folder of the file that includes them. A pattern without a
// file is fine.
func (r *reader) include(from, pattern string) error {
	if !filepath.IsAbs(pattern) {
		pattern = filepath.Join(filepath.Dir(from), pattern)
	}
	names, err := r.glob(pattern)
	if err != nil {
		return core.Errorf(core.BadConfig, "%s: include %s: %w", from, core.Clip(pattern), err)
	}
	for _, name := range names {
		if err := r.file(name); err != nil {
			return err
		}
	}
	return nil
}

type kind int

const (
	empty kind = iota
	loads
	includes
	ignored
)

// parse understands a line as _plugin_stack_parse_line does (plugstack.c, 22.05.8): a word, a path and arguments, none
// of them in quotes. A # ends the line anywhere. Slurm passes over a line with another first word.
func parse(text string) (Line, kind) {
	text, _, _ = strings.Cut(text, "#")
	words := strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == '\t' || r == '\n' })
	if len(words) == 0 {
		return Line{}, empty
	}
	bad := Line{Plugin: core.Clip(strings.Join(words, " "))}
	if len(words) == 1 || len(text) > maxLine {
		return bad, ignored
	}
	switch words[0] {
	case "required", "optional":
		return Line{Required: words[0] == "required", Plugin: words[1], Args: words[2:]}, loads
	case "include":
		return Line{Plugin: words[1]}, includes
	}
	return bad, ignored
}
