package plan

import (
	"bytes"
	"errors"
	"io/fs"
	"os"

	"github.com/weft-hpc/weft/file"
)

// MaxOwn bounds a file of Weft's, in bytes.
const MaxOwn = 64 << 10

// Own plans to write a file of Weft's, or to remove it where c.Gone is set. It refuses to lose what another hand wrote:
// a whole file, or an edit. sealed is IsSealed, or its like for a language without comments.
func (p *Plan) Own(c Change, sealed func(text []byte) (ours, intact bool)) {
	var err error
	c.Was, err = ReadOwn(c.Path)
	ours, intact := sealed(c.Was)
	switch {
	case err != nil:
	case c.Gone && !ours, c.Was != nil && bytes.Equal(c.Was, c.Text):
		return
	case ours && !intact:
		err = errors.New("it was edited by hand since Weft wrote it")
	case c.Was != nil && !ours:
		err = errors.New("it is there and Weft did not write it")
	}
	if err != nil {
		p.Add(Refusal, "files", "move it away if it can go", "%s: %v", c.Path, file.Bare(err))
	}
	p.Changes = append(p.Changes, c)
}

// ReadOwn reads a file that may be Weft's; nil where there is none. Weft writes no link and no file above MaxOwn: their
// text counts as empty.
func ReadOwn(path string) ([]byte, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Size() > MaxOwn:
		return []byte{}, nil
	}
	return file.Read(path, MaxOwn)
}
