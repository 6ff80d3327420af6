#!/bin/sh
# Slurm's @KEY@ on every node of scheduler @SCHEDULER@: made by `weft init slurm`, removed by `weft init slurm --remove`.
hook=@HOOK@
@SITE site=@PROGRAM@
code=0
if [ -x "$hook" ]; then
	GOMAXPROCS=1 @CALL@ epilog || code=$?
else
	echo "weft: what job $SLURM_JOB_ID held here is not removed: $hook is not there: bring it back, or take Weft out of slurm.conf with \"weft init slurm --remove\" and \"scontrol reconfigure\"" >&2
fi
@SITE "$site" "$@" || { last=$?; [ $code -ne 0 ] || code=$last; }
exit $code
