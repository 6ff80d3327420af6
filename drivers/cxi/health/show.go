package health

import (
	"fmt"
	"strings"
	"time"
)

// shown is one line with the state that cxi_stat shows, and with the names of all that is not known.
func (s *sight) shown() string {
	var parts, lacks []string
	add := func(name, text string) {
		if text == "" {
			lacks = append(lacks, name)
		} else {
			parts = append(parts, name+" "+text)
		}
	}
	add("Cassini", s.Version)
	switch {
	case s.Address == "":
		add("AMA", "")
	case mismatch(s) != "":
		add("AMA", "of another port")
	case ama(s) == "":
		add("AMA", "yes")
	default:
		add("AMA", "no")
	}
	add("network device", s.State)
	add("link", s.Link)
	add("speed", s.Speed)
	add("MTU", s.MTU)
	add("media", s.Media)
	add("LLR", s.LLR)
	add("loopback", s.Loopback)
	add("pause", s.Pause)
	add("PCIe", s.pcie())
	add("firmware", s.Firmware)
	add("AER correctable", s.AERCorr)
	add("nonfatal", s.AERNon)
	add("fatal", s.AERHard)
	hour, known := s.restarts(s.now.Add(-time.Hour))
	add("restarts in an hour", when(known, fmt.Sprint(hour)))
	for _, c := range []struct{ name, before, after string }{
		{"corrected BER", s.before.Corrected, s.Corrected}, {"uncorrected BER", s.before.Uncorrected, s.Uncorrected},
	} {
		is, ok := errors(s.Speed, c.before, c.after)
		add(c.name, when(ok, fmt.Sprintf("%.0e", is)))
	}
	if len(lacks) > 0 {
		parts = append(parts, "not known: "+strings.Join(lacks, ", "))
	}
	return strings.Join(parts, "; ")
}

// pcie is the bus's speed and width, and what the card can.
func (s *sight) pcie() string {
	if s.PCIe == "" || s.Width == "" {
		return ""
	}
	speed := s.PCIe
	if s.extended() {
		speed = s.ESM
	}
	text := fmt.Sprintf("%s x%s of %s x%s", speed, s.Width, known(s.BestPCIe), known(s.BestWidth))
	return strings.ReplaceAll(text, " PCIe", "")
}

func known(text string) string {
	if text == "" {
		return "?"
	}
	return text
}
