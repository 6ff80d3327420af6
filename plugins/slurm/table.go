package slurm

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/weft-hpc/weft/core"
)

// column is one field of squeue's or sinfo's -O, of a fixed width in bytes.
type column struct {
	name  string
	width int
}

// table is a format of records. A value shorter than its column is padded with blanks, a longer one is cut, and nothing separates two columns: so a record has
// one length whatever is in it, and a newline in a value begins no record.
type table []column

// format is the argument of -O.
func (t table) format() string {
	parts := make([]string, len(t))
	for i, c := range t {
		parts[i] = c.name + ":" + strconv.Itoa(c.width)
	}
	return strings.Join(parts, ",")
}

func (t table) length() int {
	n := 1 // the newline
	for _, c := range t {
		n += c.width
	}
	return n
}

// maxRecords bounds an answer.
const maxRecords = 1 << 20

// parse takes an answer apart and calls row with the values of each record, in the order of the columns. cut says which of them may be longer than shown.
func (t table) parse(text []byte, row func(values []string, cut []bool) error) error {
	size := t.length()
	if len(text)%size != 0 {
		return core.Errorf(core.SchedulerAway, "answer of %d bytes: it is not made of records of %d", len(text), size).
			WithRemedy("see whether this Slurm's squeue knows the options -h -a -O with widths, as 22.05 does")
	}
	if len(text)/size > maxRecords {
		return core.Errorf(core.SchedulerAway, "answer: it has more than %d records", maxRecords)
	}
	values, cut := make([]string, len(t)), make([]bool, len(t))
	for ; len(text) > 0; text = text[size:] {
		if text[size-1] != '\n' {
			return core.Errorf(core.SchedulerAway, "answer: a record of %d bytes does not end there", size)
		}
		at := 0
		for i, c := range t {
			field := text[at : at+c.width]
			at += c.width
			cut[i] = field[c.width-1] != ' '
			values[i] = string(bytes.TrimRight(field, " "))
			if values[i] == "(null)" || values[i] == "N/A" {
				values[i] = ""
			}
		}
		if err := row(values, cut); err != nil {
			return err
		}
	}
	return nil
}
