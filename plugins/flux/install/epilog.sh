#!/bin/sh
# Flux's @PHASE@ of scheduler @SCHEDULER@: made by `weft init flux`, removed by `weft init flux --remove`.
hook=@HOOK@
case $FLUX_JOB_ID in # units of systemd write it without its ƒ
f*) FLUX_JOB_ID=ƒ${FLUX_JOB_ID#f} && export FLUX_JOB_ID ;;
esac
if [ ! -x "$hook" ]; then
	echo "weft: what job $FLUX_JOB_ID held here is not removed: $hook is not there: bring it back, or take Weft out with \"weft init flux --remove\"" >&2
	exit 0
fi
export GOMAXPROCS=1 # weft-hook starts faster so on a node with many processors
exec @CALL@
