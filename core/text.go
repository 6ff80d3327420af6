package core

import (
	"fmt"
	"strings"
)

// DrainPrefix begins the reason that an adapter gives its scheduler for a drained node. Resume takes back only a drain whose
// reason begins with it.
const DrainPrefix = "weft: "

// OneLine makes outside text one printable line of at most 512 bytes, fit for a scheduler's own record or a hook's output, where a line's end or an
// escape would forge another entry. instead stands for a text without words.
func OneLine(text, instead string) string {
	const most = 512
	control := func(r rune) bool { return r <= ' ' || r >= 0x7f && r < 0xa0 }
	text = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, "?"), control), " ")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	if text == "" {
		return instead
	}
	return text
}

// Lines are variables for who obeys one line each: `unset NAME` for all that go, then `export NAME=VALUE`. A variable that is no OneLine is an error, and is
// never left out: half an environment is worse than none.
func Lines(variables []Variable) ([]byte, error) {
	var unset, export []byte
	for _, v := range variables {
		switch {
		case !v.OneLine():
			return nil, Errorf(InternalFault, "variable %q cannot be told to a task: a line is one variable", Clip(v.Name))
		case v.Unset:
			unset = fmt.Appendf(unset, "unset %s\n", v.Name)
		default:
			export = fmt.Appendf(export, "export %s=%s\n", v.Name, v.Value)
		}
	}
	return append(unset, export...), nil
}

// OneLine reports whether v can stand as NAME=VALUE in a line of its own: its name is of A to Z, 0 to 9 (not first) and _, and its value has no control
// character, which would begin another variable.
func (v Variable) OneLine() bool {
	for i, r := range v.Name {
		if r != '_' && (r < 'A' || r > 'Z') && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return v.Name != "" && !strings.ContainsFunc(v.Value, func(r rune) bool { return r < ' ' || r == 0x7f })
}
