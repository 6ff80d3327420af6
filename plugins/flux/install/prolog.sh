#!/bin/sh
# Flux's @PHASE@ of scheduler @SCHEDULER@: made by `weft init flux`, removed by `weft init flux --remove`.
hook=@HOOK@
patience=@WAIT@
PATH=${PATH:+$PATH:}/usr/bin:/bin # for sleep and date
export PATH
case $FLUX_JOB_ID in # units of systemd write it without its ƒ
f*) FLUX_JOB_ID=ƒ${FLUX_JOB_ID#f} && export FLUX_JOB_ID ;;
esac
if [ ! -x "$hook" ]; then
	echo "weft: job $FLUX_JOB_ID gets no network and will end: $hook is not there: bring it back, or take Weft out with \"weft init flux --remove\"" >&2
	exit 0 # a failing prolog would drain the node
fi
child=
trap '[ -z "$child" ] || kill -TERM "$child" 2>/dev/null; exit 143' TERM INT HUP
now() { # sets now to the seconds since the boot, whatever the clock does; without /proc to those of the clock
	{ read -r now rest </proc/uptime; } 2>/dev/null && now=${now%.*} || now=$(date +%s)
}
now
began=$now
pause=1
paused=0
while :; do
	GOMAXPROCS=1 @CALL@ & # on one processor, for which Go starts faster
	child=$!
	wait "$child"
	code=$?
	child=
	[ "$code" -eq 75 ] || exit "$code"
	now
	if [ "$paused" -ge "$patience" ] || [ $((now - began)) -ge "$patience" ]; then
		echo "weft: job $FLUX_JOB_ID waited ${patience}s in vain and will end; this node is not at fault" >&2
		exit 0
	fi
	sleep "$pause" &
	child=$!
	wait "$child"
	child=
	paused=$((paused + pause))
	[ "$pause" -ge 16 ] || pause=$((pause * 2))
done
