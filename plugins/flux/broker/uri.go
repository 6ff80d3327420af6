package broker

import (
	"fmt"
	"path/filepath"
	"strings"
)

// SystemURI is where the broker of a host's system instance listens, unless its rundir is another.
const SystemURI = "local:///run/flux/local"

// Path is the socket of a local URI. Other connectors (ssh, shmem) are refused: they start programs.
func Path(uri string) (string, error) {
	rest, ok := strings.CutPrefix(uri, "local://")
	if !ok {
		return "", fmt.Errorf("URI %.80q: it is none of a local socket, local:///run/flux/local", uri)
	}
	rest, _, _ = strings.Cut(rest, "?") // options of libflux
	if !filepath.IsAbs(rest) || strings.ContainsRune(rest, 0) || len(rest) > maxSocketPath {
		return "", fmt.Errorf("URI %.80q: it names no absolute path of at most %d bytes", uri, maxSocketPath)
	}
	return filepath.Clean(rest), nil
}

// maxSocketPath is what a unix socket's address holds on Linux.
const maxSocketPath = 107
