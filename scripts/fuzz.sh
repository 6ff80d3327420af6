#!/bin/sh
# Fuzzes one target: fuzz.sh PACKAGE TARGET TIME. Before 1.27 Go may take the end of the time for a failure, with the
# line "context deadline exceeded" and no failing input (golang/go#75804): such a run is repeated, three times at most.
set -u
log=$(mktemp) && trap 'rm -f "$log" "$log.exit"' EXIT || exit 1
for try in 1 2 3; do
	{
		go test -run '^$' -fuzz "^$2\$" -fuzztime "$3" "$1" 2>&1
		echo $? >"$log.exit"
	} | tee "$log"
	read -r code <"$log.exit" || exit 1
	[ "$code" -ne 0 ] || exit 0
	if ! grep -qx '    context deadline exceeded' "$log" || grep -q 'Failing input written' "$log"; then
		exit "$code"
	fi
	echo "$2: Go took the end of the time for a failure (golang/go#75804)"
done
exit 1
