#!/bin/sh
# Slurm's @KEY@ on every node of scheduler @SCHEDULER@: made by `weft init slurm`, removed by `weft init slurm --remove`.
hook=@HOOK@
@SITE site=@PROGRAM@
@SITE "$site" "$@" || exit
@SITE echo # what the site's printed may lack its last line's end
if [ ! -x "$hook" ]; then
	echo "print weft: this task cannot have its network: $hook is not there: bring it back, or take Weft out of slurm.conf with \"weft init slurm --remove\" and \"scontrol reconfigure\""
	exit 1
fi
export GOMAXPROCS=1 # weft-hook starts faster so on a node with many processors
exec @CALL@ taskprolog
