package health

import (
	"fmt"
	"strconv"
	"strings"
)

// bits are the bits a second of a link's modes: rate_to_ber in utils/cxi_stat.c of shs-libcxi release/shs-14.0.0.
var bits = map[string]float64{
	"CK_400G": 425e9, "BS_200G": 212.5e9, "BJ_100G": 103.125e9, "CD_100G": 106.25e9, "CD_50G": 53.125e9,
}

// mode is a link's mode as Cassini 1 writes it; Cassini 2 writes ck400G for CK_400G.
func mode(speed string) string {
	speed = strings.ToUpper(speed)
	if len(speed) > 2 && speed[2] != '_' {
		speed = speed[:2] + "_" + speed[2:]
	}
	return speed
}

// counter is a counter and when it was read, in seconds.
type counter struct{ value, at float64 }

// parse reads "COUNT@SECONDS.NANOSECONDS" (telem_item_show in cass_telem.c of shs-cxi-driver, release/shs-14.0.1).
func parse(text string) (c counter, ok bool) {
	value, at, ok := strings.Cut(text, "@")
	n, errN := strconv.ParseUint(value, 10, 64)
	t, errT := strconv.ParseFloat(at, 64)
	return counter{float64(n), t}, ok && errN == nil && errT == nil
}

// least is the shortest time in seconds between two readings that a rate is made of. cxi_stat takes four.
const least = 4

// errors is the bit error rate between two readings of a counter of codewords. Each codeword counts as one bad bit, as
// cxi_stat counts them. A counter that went back has started again.
func errors(speed, before, after string) (rate float64, ok bool) {
	a, first := parse(before)
	b, second := parse(after)
	if !first || !second || b.value < a.value || b.at-a.at < least || bits[mode(speed)] == 0 {
		return 0, false
	}
	return (b.value - a.value) / (b.at - a.at) / bits[mode(speed)], true
}

// rate is the evidence of a rate above most.
func rate(s *sight, before, after string, most float64) string {
	is, ok := errors(s.Speed, before, after)
	return when(ok && is > most, fmt.Sprintf("bit error rate %.1e", is))
}
