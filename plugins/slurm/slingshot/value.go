package slingshot

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-hpc/weft/core"
)

// The values of job_vni and single_node_vni.
const (
	all  = "all"
	user = "user"
	none = "none"
)

// classes are those of a plugin without tcs.
const classes = core.LowLatency | core.BestEffort

func same(format string, args ...any) Note {
	return Note{Kind: Same, What: fmt.Sprintf(format, args...)}
}
func differs(format string, args ...any) Note {
	return Note{Kind: Differs, What: fmt.Sprintf(format, args...)}
}
func wrong(format string, args ...any) Note {
	return Note{Kind: Wrong, What: fmt.Sprintf(format, args...)}
}

// number reads digits. The plugin also takes a sign, blanks and more than 32 bits, of which it drops some.
func number(s string, least, most uint32) (uint32, bool) {
	if strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseUint(s, 10, 32)
	return uint32(n), err == nil && uint32(n) >= least && uint32(n) <= most
}

func flag(kind Kind, what string) func(*reading, string, bool) Note {
	return func(_ *reading, _ string, given bool) Note {
		if given {
			return wrong("it takes no value; the plugin passes over one")
		}
		return Note{Kind: kind, What: what}
	}
}

func count(least uint32, kind Kind, what string) func(*reading, string, bool) Note {
	most := uint32(1<<32 - 1)
	if least > 0 {
		most = 65535
	}
	return func(_ *reading, value string, _ bool) Note {
		if _, ok := number(value, least, most); !ok {
			return wrong("it must be a number from %d to %d", least, most)
		}
		return Note{Kind: kind, What: what}
	}
}

func text(what string, words ...string) func(*reading, string, bool) Note {
	return func(_ *reading, value string, _ bool) Note {
		switch {
		case value == "":
			return wrong("it has no value")
		case len(words) > 0 && !slices.Contains(words, strings.ToUpper(value)):
			return wrong("it must be %s", strings.Join(words, " or "))
		}
		return differs("%s", what)
	}
}

func (r *reading) vnis(value string, _ bool) Note {
	from, to, _ := strings.Cut(value, "-")
	first, ok1 := number(from, 0, 65535)
	last, ok2 := number(to, 0, 65535)
	switch {
	case !ok1 || !ok2 || first >= last:
		return wrong("it must be two numbers from 0 to 65535 such as 1024-65535, the lesser first")
	case last == 1:
		return wrong("Weft gives none of these VNIs to a job")
	}
	r.first, r.last = max(first, 1), last
	if first <= 10 && last >= 10 || first <= 1 {
		return differs("pool \"jobs\" has them, but for VNIs 0, 1 and 10, which no job gets")
	}
	return same("pool \"jobs\" has them")
}

func (r *reading) tcs(value string, _ bool) Note {
	var set core.Classes
	for name := range strings.SplitSeq(value, ":") {
		if name == "" {
			continue // strtok_r passes over it
		}
		c, err := core.ParseClass(name)
		if err != nil || strings.HasPrefix(strings.ToUpper(name), "CXI_") {
			return wrong("%q is no traffic class", core.Clip(name))
		}
		set |= c
	}
	if set == 0 {
		return wrong("it names no traffic class")
	}
	r.classes = set
	return differs("traffic_classes are %s, and policy refuses others, which the plugin gives to whoever asks",
		strings.Join(set.Names(), ", "))
}

// choice reads all, user or none; a bare parameter is all.
func choice(value string, given bool) (string, bool) {
	if !given {
		return all, true
	}
	word := strings.ToLower(value)
	return word, slices.Contains([]string{all, user, none}, word)
}

func (r *reading) job(value string, given bool) Note {
	word, ok := choice(value, given)
	if !ok {
		return wrong("it must be all, user or none")
	}
	r.jobVNI = word
	switch word {
	case all:
		return same("every job has a second VNI, by a rule of the policy")
	case user:
		return same("a job that asks for job_vni has a second VNI, by a rule of the policy")
	}
	return same("no job has a second VNI")
}

func (r *reading) single(value string, given bool) Note {
	word, ok := choice(value, given)
	switch {
	case !ok:
		return wrong("it must be all, user or none")
	case word == all:
		return same("a job on one node has a VNI")
	}
	return differs("a job on one node has a VNI anyway, unless it asks for no_vni")
}

const later = "the policy has a rule for it as a comment, since no fabric backend makes multicast addresses yet"

func (r *reading) collectives(value string, _ bool) Note { return hardware(value, &r.addresses) }
func (r *reading) large(value string, _ bool) Note       { return hardware(value, &r.nodes) }

func hardware(value string, into *uint32) Note {
	n, ok := number(value, 1, 1<<31-1)
	if !ok {
		return wrong("it must be a number from 1 to %d", 1<<31-1)
	}
	*into = n
	return differs(later)
}
