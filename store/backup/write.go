package backup

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
)

// Write writes a backup to w of the records that walk puts. They come as bytes, in the order of Load.
func Write(w io.Writer, walk func(put func(rec []byte) error) error) error {
	hash := sha256.New()
	out := bufio.NewWriterSize(io.MultiWriter(w, hash), 1<<16)
	fmt.Fprintf(out, "%s%d\n", greeting, Version)
	var count uint64
	var length []byte
	err := walk(func(rec []byte) error {
		count++
		length = binary.AppendUvarint(length[:0], uint64(len(rec)))
		_, _ = out.Write(length) // the next write tells its error
		_, err := out.Write(rec)
		return err
	})
	if err != nil {
		return err
	}
	if _, err := out.Write(binary.AppendUvarint([]byte{0}, count)); err != nil {
		return err
	}
	if err := out.Flush(); err != nil {
		return err
	}
	_, err = w.Write(hash.Sum(nil))
	return err
}
