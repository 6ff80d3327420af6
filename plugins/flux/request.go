package flux

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/request"
)

// The shell options that say what a user asks for; the second is flux-coral2's.
const (
	optionOurs = "slingshot"
	optionCray = "cray-slingshot"
)

var dialect = request.Dialect{Command: "-o ", Prefix: optionOurs + "."}

// ParseOptions reads the options of a job's shell that are Weft's: `-o slingshot.KEY=VALUE`, `-o slingshot=off`, and
// before them flux-coral2's `-o cray-slingshot=off` and `-o cray-slingshot.vnicount=N`. An equals sign does for the dot.
func ParseOptions(options map[string]json.RawMessage) (core.Request, error) {
	var all []request.Given
	for _, option := range []string{optionCray, optionOurs} {
		text, given := options[option]
		if !given {
			continue
		}
		words := map[string]json.RawMessage{option: text}
		var keys map[string]json.RawMessage
		if json.Unmarshal(text, &keys) == nil && keys != nil {
			words = map[string]json.RawMessage{}
			for key, value := range keys {
				words[option+"."+key] = value
			}
		}
		for _, name := range slices.Sorted(maps.Keys(words)) {
			value, err := scalar(words[name])
			if err != nil {
				return core.Request{}, core.Errorf(core.BadRequest, "option %q: %w", "-o "+core.Clip(name), err)
			}
			all = append(all, word(name, value))
		}
	}
	return dialect.Parse(all)
}

// ParseRequest implements core.RequestParser: each text is what a user gives to -o.
func (p *Plugin) ParseRequest(_ context.Context, given []string) (core.Request, error) {
	var all []request.Given
	for _, cray := range []bool{true, false} {
		for _, text := range given {
			if name, value, _ := strings.Cut(text, "="); strings.HasPrefix(name, optionCray) == cray {
				all = append(all, word(name, value))
			}
		}
	}
	return dialect.Parse(all)
}

// word is one option as the dialect has it.
func word(name, value string) request.Given {
	if key, rest, ok := strings.Cut(value, "="); ok && (name == optionOurs || name == optionCray) {
		return word(name+"."+key, rest)
	}
	g := request.Given{Value: value, As: "-o " + name}
	switch key, ours := strings.CutPrefix(name, dialect.Prefix); {
	case ours:
		return request.Given{Name: key, Value: value}
	case name == optionCray+".off":
		g.Name = "off"
	case name == optionCray+".vnicount" && value != "0":
		g.Name = "vnis"
	case name == optionCray+".vnicount", (name == optionOurs || name == optionCray) && value == "off":
		g = request.Given{Name: "off", As: g.As + "=" + value}
	case name == optionOurs, name == optionCray:
		g.As += "=" + core.Clip(value)
	}
	return g
}

// scalar is a value as its user wrote it: Flux makes a number of what looks like one, and 1 of an option without a
// value.
func scalar(text json.RawMessage) (string, error) {
	text = bytes.TrimSpace(text)
	if len(text) == 0 || strings.ContainsRune("{[n", rune(text[0])) {
		return "", errors.New("its value is no word and no number")
	}
	if text[0] != '"' {
		return string(text), nil
	}
	var s string
	err := json.Unmarshal(text, &s)
	return s, err
}
