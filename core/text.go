package core

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// DrainPrefix begins the reason that an adapter gives its scheduler for a drained node. Resume takes back only a drain
// whose reason begins with it.
const DrainPrefix = "weft: "

// Shown is r, or ? for a character that a terminal obeys or hides: controls, zero-width characters and those that turn
// the direction of a text. A line's end and a tab stay.
func Shown(r rune) rune {
	if r == '\n' || r == '\t' || unicode.IsPrint(r) {
		return r
	}
	return '?'
}

// Flat is text as one line, with Shown of each character: a line's end in a plugin's text could forge another row.
func Flat(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return ' '
		}
		return Shown(r)
	}, text)
}

// OneLine makes outside text one printable line of at most 512 bytes. It is safe in a scheduler's record or a hook's
// output, where a line's end or an escape could forge another entry. It returns instead for a text without words.
func OneLine(text, instead string) string {
	const most = 512
	control := func(r rune) bool { return r <= ' ' || Shown(r) != r }
	text = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, "?"), control), " ")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	if text == "" {
		return instead
	}
	return text
}

// Plural is a number of things, by the word for one of them.
func Plural(n int, one string) string {
	switch {
	case n == 1:
		return "1 " + one
	case strings.HasSuffix(one, "s"):
		return fmt.Sprint(n, " ", one, "es")
	}
	return fmt.Sprint(n, " ", one, "s")
}

// Are is a number with its verb, for things that the sentence has named already.
func Are(n int) string {
	if n == 1 {
		return "1 is"
	}
	return fmt.Sprint(n, " are")
}

// OnNetworks repeats each command in a text's backquotes that names hsnN, once for each network device. It leaves the
// text as it is where there is none, or an empty name.
func OnNetworks(text string, networks []string) string {
	if len(networks) == 0 || slices.Contains(networks, "") {
		return text
	}
	parts := strings.Split(text, "`")
	for i := 1; i < len(parts); i += 2 {
		if !strings.Contains(parts[i], "hsnN") {
			continue
		}
		each := make([]string, 0, len(networks))
		for _, n := range networks {
			each = append(each, strings.ReplaceAll(parts[i], "hsnN", n))
		}
		parts[i] = strings.Join(each, "; ")
	}
	return strings.Join(parts, "`")
}

// Lines writes variables for a reader that obeys one line each: all `unset NAME` first, then `export NAME=VALUE`. A
// variable that does not fit in one line is an error, since half an environment is worse than none.
func Lines(variables []Variable) ([]byte, error) {
	var unset, export []byte
	for _, v := range variables {
		switch {
		case !v.OneLine():
			return nil, Errorf(InternalFault, "variable %q: it does not fit in one line, so a task cannot get it", Clip(v.Name))
		case v.Unset:
			unset = fmt.Appendf(unset, "unset %s\n", v.Name)
		default:
			export = fmt.Appendf(export, "export %s=%s\n", v.Name, v.Value)
		}
	}
	return append(unset, export...), nil
}

// OneLine reports whether v fits in one line as NAME=VALUE. Its name has A to Z, _ and, after the first character, 0
// to 9. Its value has no control character, which could begin another variable.
func (v Variable) OneLine() bool {
	for i, r := range v.Name {
		if r != '_' && (r < 'A' || r > 'Z') && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return v.Name != "" && !strings.ContainsFunc(v.Value, func(r rune) bool { return r < ' ' || r == 0x7f })
}
