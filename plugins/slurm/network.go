package slurm

import "github.com/weft-hpc/weft/core/request"

// dialect is --network= (or SLURM_NETWORK) as switch/hpe_slingshot reads it, so that a site moves without telling its users.
var dialect = request.Dialect{Command: "--network=", Plugin: true}
