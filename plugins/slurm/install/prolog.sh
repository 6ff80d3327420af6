#!/bin/sh
# Slurm's @KEY@ on every node of scheduler @SCHEDULER@: made by `weft init slurm`, removed by `weft init slurm --remove`.
hook=@HOOK@
@SITE site=@PROGRAM@
@SITE "$site" "$@" || exit
if [ ! -x "$hook" ]; then
	echo "weft: job $SLURM_JOB_ID gets no network, and its tasks will fail: $hook is not there: bring it back, or take Weft out of slurm.conf with \"weft init slurm --remove\" and \"scontrol reconfigure\"" >&2
	exit 0 # a failing Prolog would drain the node
fi
export GOMAXPROCS=1 # weft-hook starts faster so on a node with many processors
exec @CALL@ prolog
