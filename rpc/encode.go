package rpc

import (
	"math"
	"strings"
	"unicode/utf8"
)

// every encodes a list.
func every[D, P any](in []D, one func(D) P) []P {
	if len(in) == 0 {
		return nil
	}
	out := make([]P, len(in))
	for i, v := range in {
		out[i] = one(v)
	}
	return out
}

// utf makes valid UTF-8 of s, since protobuf refuses a whole message for one stray byte. What was wrong is wrong on the other side too, which says so.
func utf(s string) string { return strings.ToValidUTF8(s, string(utf8.RuneError)) }

// text is for people: cut where it is too long to travel.
func text(s string) string { return cut(s, maxText) }

// cut shortens s to most bytes of valid UTF-8.
func cut(s string, most int) string {
	s = utf(s)
	if len(s) <= most {
		return s
	}
	end := most - len("…")
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}

func texts(in []string) []string { return every(in[:min(len(in), maxTexts)], text) }

// count of core's; one below zero is sent as one that no decoder takes.
func count(n int) uint32 {
	if n < 0 || n > math.MaxInt32 {
		return math.MaxUint32
	}
	return uint32(n)
}
