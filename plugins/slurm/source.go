package slurm

import _ "embed"

//go:embed spank/weft.c
var source []byte

// SpankSource gives the source of the SPANK plugin. `weft init slurm` writes it, and an administrator compiles it.
func SpankSource() []byte { return source }
