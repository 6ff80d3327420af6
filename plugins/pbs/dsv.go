package pbs

import (
	"crypto/rand"
	"errors"
	"strconv"
	"strings"

	"github.com/weft-hpc/weft/core"
)

// qstat -f -F dsv -D '|' writes a job as `Job Id: ID|NAME=VALUE|NAME=VALUE` and a newline. Job_Name is the first
// attribute (display_statjob and prt_attr in qstat.c of OpenPBS 23.06.06). It changes values in three steps:
//   - It writes a backslash before each delimiter, and before each backslash unless a comma or a quotation mark follows
//     (escape_delimiter in misc_utils.c).
//   - It writes newline and form feed as \n and \f (convert_feed_chars).
//   - It writes each byte that is below 32 where char is signed as ^ and the byte plus 64 (show_nonprint_chars): a user
//     who writes the byte 0xCA causes a newline. The byte 0x1C causes a backslash: before a delimiter it looks like one
//     that qstat has written.
//
// So only a delimiter that no value can hold shows where a value and a job end.
const (
	header    = "Job Id: "
	firstName = "Job_Name"
)

// Errors of a whole answer.
var (
	errFormat = errors.New("it is not the text that `qstat -f -F dsv` gives")
	errTwice  = errors.New("it is there twice")
)

// delimiter returns one that is in no value. Its first byte is below 0 where char is signed, and never comes out of a
// value there. Its other bytes are drawn after every user has written his text.
func delimiter() string { return "\x80" + rand.Text() }

// attribute is one of a job, its value as qstat writes it.
type attribute struct{ name, value string }

// records calls each for every job of an answer with that delimiter. A text that is cut is an error: Weft would take a
// missing job for one that is over.
func records(text, delimiter string, each func(id string, all []attribute) error) error {
	if text == "" {
		return nil
	}
	text, whole := strings.CutSuffix(text, "\n")
	text, first := strings.CutPrefix(text, header)
	if !whole || !first {
		return errFormat
	}
	id, rest, more := strings.Cut(text, delimiter)
	for more {
		var all []attribute
		next := ""
		for more && next == "" {
			var one string
			one, rest, more = strings.Cut(rest, delimiter)
			if len(all) > 0 && more && strings.HasPrefix(rest, firstName+"=") {
				i := strings.LastIndex(one, "\n"+header)
				if i < 0 {
					return errFormat
				}
				one, next = one[:i], one[i+len("\n"+header):]
			}
			name, value, ok := strings.Cut(one, "=")
			if !ok || len(all) == 0 && name != firstName {
				return errFormat
			}
			all = append(all, attribute{name, value})
		}
		if err := each(id, all); err != nil {
			return errors.New("job " + strconv.Quote(core.Clip(id)) + ": " + err.Error())
		}
		id = next
	}
	if id != "" {
		return errFormat
	}
	return nil
}

// plain is a value without what qstat put into it. false: it has a byte that qstat shows as two others.
func plain(value string) (string, bool) {
	if !strings.ContainsAny(value, `\^`) {
		return value, true
	}
	var out strings.Builder
	for i := 0; i < len(value); i++ {
		c := value[i]
		switch {
		case c == '^':
			return "", false
		case c != '\\' || i+1 == len(value) || strings.IndexByte(`'",`, value[i+1]) >= 0:
			out.WriteByte(c)
		default:
			i++
			switch value[i] {
			case 'n':
				out.WriteByte('\n')
			case 'f':
				out.WriteByte('\f')
			default:
				out.WriteByte(value[i])
			}
		}
	}
	return out.String(), true
}
