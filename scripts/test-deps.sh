#!/bin/sh
# Installs from Debian what `make test` can use beside Go: a real Slurm for e2e/, a C compiler for the race detector, strace to count syncs, Python for PBS's
# hook file. Only what is missing is installed, and nothing is started: the tests run a Slurm of their own.
set -eu

missing=""
need() { # command packages…
	command -v "$1" >/dev/null 2>&1 && return
	shift
	missing="$missing $*"
}
need strace strace
need python3 python3
need "$(go env CC)" gcc libc6-dev
need slurmctld slurmctld slurm-wlm-basic-plugins
need slurmd slurmd slurm-wlm-basic-plugins
need squeue slurm-client slurm-wlm
need munged munge
[ -e /usr/include/slurm/spank.h ] || missing="$missing libslurm-dev"
need lua5.1 lua5.1 # plugins/flux/install: the oldest and the newest that Flux's job shell can have
need lua5.4 lua5.4
need etcd etcd-server # store/etcd
need ip iproute2 # e2e/chaos
[ -n "$missing" ] || exit 0

command -v apt-get >/dev/null || { echo "test-deps: no apt-get here; install by hand:$missing" >&2; exit 1; }
sudo=""
[ "$(id -u)" -eq 0 ] || sudo="sudo -n"
export DEBIAN_FRONTEND=noninteractive
$sudo apt-get update -qq
# shellcheck disable=SC2086 # a list of words
$sudo apt-get install -y -qq --no-install-recommends $missing
