package flux

import (
	"strconv"
	"strings"

	"github.com/weft-hpc/weft/core"
)

// A job's id is a number of 64 bits that is written in several ways (RFC 19). Weft spells it as flux-jobs(1) does.
const (
	f58      = "ƒ" // U+0192
	plainF58 = "f" // where a locale, or a unit's name, has no ƒ
	digits58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
	maxID58  = 11 // digits of 2^64-1
)

// parseID reads an id in each spelling of flux-job(1): f58, f58plain, dec, hex, dothex, kvs and words.
//
// Hooks have two of them: ƒ and base58, and f and base58 behind flux-core's units of systemd.
func parseID(text string) (uint64, error) {
	id, ok := uint64(0), false
	switch digits, hex := strings.CutPrefix(text, "0x"); {
	case hex:
		id, ok = parseHex(digits)
	case strings.Contains(text, "."):
		id, ok = parseDotted(strings.TrimPrefix(text, "job."))
	case strings.Contains(text, "-"):
		id, ok = parseWords(text)
	case strings.HasPrefix(text, plainF58), strings.HasPrefix(text, f58):
		id, ok = parse58(strings.TrimPrefix(strings.TrimPrefix(text, plainF58), f58))
	default:
		n, err := strconv.ParseUint(text, 10, 63)
		id, ok = n, err == nil && strconv.FormatUint(n, 10) == text
	}
	if !ok || id >= 1<<63 {
		return 0, badID(text)
	}
	return id, nil
}

func parse58(digits string) (uint64, bool) {
	if digits == "" || len(digits) > maxID58 {
		return 0, false
	}
	id := uint64(0)
	for _, c := range []byte(digits) {
		id = id*58 + uint64(max(0, strings.IndexByte(digits58, c))) //nolint:gosec // not negative
	}
	return id, formatID(id) == f58+digits // not: what is no digit, zeros in front, more than 64 bits
}

func parseHex(digits string) (uint64, bool) {
	id, err := strconv.ParseUint(digits, 16, 64)
	return id, err == nil
}

// parseDotted reads four groups of four digits, base 16.
func parseDotted(text string) (uint64, bool) {
	groups := strings.Split(text, ".")
	for _, g := range groups {
		if len(g) != 4 {
			return 0, false
		}
	}
	id, ok := parseHex(strings.Join(groups, ""))
	return id, ok && len(groups) == 4
}

// Spelled is an id of a job as flux-jobs(1) shows it, for text in any spelling that no other scheduler has. Other text
// stays as it is. So does a decimal number below 1<<32, which can be a job of Slurm. A job of Flux has such a number in
// the first quarter of a second of its instance alone (RFC 19).
func Spelled(text string) string {
	id, err := parseID(text)
	if number, e := strconv.ParseUint(text, 10, 64); err != nil || e == nil && number < 1<<32 {
		return text
	}
	return formatID(id)
}

func badID(text string) error {
	return core.Errorf(core.BadCall, "job id %q: it is no id of Flux, in none of the spellings of `flux job id`", core.Clip(text)).
		WithRemedy("the hook must be run by Flux, which sets FLUX_JOB_ID")
}

// formatID spells an id as flux-jobs(1) does.
func formatID(id uint64) string {
	var b [maxID58]byte
	i := len(b)
	for {
		i--
		b[i] = digits58[id%58]
		if id /= 58; id == 0 {
			return f58 + string(b[i:])
		}
	}
}

// parsePath reads FLUX_JOB_ID_PATH, which names a job by the jobs around it, and spells it anew.
func parsePath(text string) (string, error) {
	parts := strings.Split(text, "/")
	if len(text) > core.MaxJobID || len(parts) < 2 || parts[0] != "" {
		return "", core.Errorf(core.BadCall, "path of a job %q: it is none of Flux: /ƒ1/ƒ2", core.Clip(text))
	}
	for i, part := range parts[1:] {
		id, err := parseID(part)
		if err != nil {
			return "", err
		}
		parts[i+1] = formatID(id)
	}
	return strings.Join(parts, "/"), nil
}
