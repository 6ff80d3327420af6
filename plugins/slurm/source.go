package slurm

import _ "embed"

//go:embed spank/weft.c
var source []byte

// SpankSource gives the source of the SPANK plugin, which `weft init slurm` writes for who compiles it.
func SpankSource() []byte { return source }
