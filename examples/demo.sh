#!/bin/sh
# The documented example of the Memory Manager, then the same on the machine this runs on.
# Prints every command before it runs it. Exit status 0: everything was decided as expected.
set -eu
cd "$(dirname "$0")"

# A relative path of the command is seen from the folder above: `make demo` passes one.
numalet=${NUMALET:-numalet}
case $numalet in
  /*) ;;
  */*) numalet=../$numalet ;;
esac

state=$(mktemp -d)
trap 'rm -rf "$state"' EXIT

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
[ -t 1 ] || say() { printf '\n%s\n' "$*"; }

# run EXPECTED COMMAND...: shows the command, runs it, insists on its exit status.
run() {
  expected=$1
  shift
  printf '$ numalet'
  for word in "$@"; do
    case $word in
      *[\;\ ]*) printf " '%s'" "$word" ;;
      *) printf ' %s' "$word" ;;
    esac
  done
  printf '\n'
  status=0
  "$numalet" "$@" || status=$?
  if [ "$status" -ne "$expected" ]; then
    echo "demo: expected exit status $expected, got $status" >&2
    exit 1
  fi
}

# must_hold TEXT: the state file has this text.
must_hold() {
  if ! grep -qF "$1" "$state/memory_manager_state"; then
    echo "demo: the state file lacks $1" >&2
    exit 1
  fi
}

say "1. The documented machine: two NUMA nodes of about 126 GiB each"
run 0 machine documented/machine.yaml

say "2. A Guaranteed pod of 150Gi: more than one node has, so it gets both"
run 0 simulate -c documented/kubelet.yaml -m documented/machine.yaml \
  --reserved-memory '0:memory=3Gi;1:memory=2148Mi' \
  --state-dir "$state" documented/guaranteed.yaml

say "The kubelet's state file afterwards, with the documented numbers:"
cat "$state/memory_manager_state"
echo
must_hold '"allocatable":131766128640,"reserved":131766128640,"free":0}'
must_hold '"allocatable":133034381312,"reserved":29295144960,"free":103739236352}'
must_hold '"checksum":17296941}'

say "3. A second pod: 96 GiB are free on node 1, but the nodes now belong together as a group"
run 1 simulate -c documented/kubelet.yaml -m documented/machine.yaml \
  --reserved-memory '0:memory=3Gi;1:memory=2148Mi' \
  documented/guaranteed.yaml documented/second.yaml

# The lowest node with memory. Where the kernel tells of no nodes there is one, number 0.
node=$(sed 's/[-,].*//' /sys/devices/system/node/has_memory 2>/dev/null || true)
node=${node:-0}

say "4. This machine, read from its own /sys"
run 0 machine

say "5. Two small pods on this machine, with 100Mi kept back on NUMA node $node"
run 0 simulate -c this-machine/kubelet.yaml \
  --reserved-memory "$node:memory=100Mi" this-machine/pods.yaml
