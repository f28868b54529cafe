#!/bin/sh
# The documented example of the Memory Manager, then the same on the machine this runs on, where
# programs are started and pinned at last. It ends with how to see the example in a browser. Needs no rights and leaves nothing behind.
# Prints every command before it runs it. Exit status 0: everything was as expected.
set -eu
cd "$(dirname "$0")"

# A relative path of the command is seen from the folder above: `make demo` passes one.
numalet=${NUMALET:-numalet}
case $numalet in
  /*) ;;
  */*) numalet=../$numalet ;;
esac

state=$(mktemp -d)
# The root folder of the agent: its socket's path may have no more than 107 characters.
root=$(mktemp -d /tmp/numalet.XXXXXX)
agent=
# Where the agent's cgroups are, if it may make any. Two agents would undo each other's.
cgroups=$(awk '$3 == "cgroup2" { print $2 "/numalet"; exit }' /proc/mounts)
had_cgroups=$([ ! -d "$cgroups" ] || echo yes)

# End whatever this has started, however it comes to its end, Ctrl-C included.
clean_up() {
  status=$?
  trap '' INT TERM HUP
  trap - EXIT
  if [ -n "$agent" ] && ! end_agent >/dev/null 2>&1; then
    # Without an agent the shims go; with each of them the kernel ends its program.
    sed -n 's/.*"shim": *\([0-9]*\).*/\1/p' "$root"/runs/*/*/*/started.json 2>/dev/null |
      xargs -r kill -KILL 2>/dev/null || true
    kill -KILL "$agent" 2>/dev/null || true
  fi
  if [ -z "$had_cgroups" ] && [ -d "$cgroups" ]; then
    find "$cgroups" -depth -type d -exec rmdir {} + || true
  fi
  rm -rf "$state" "$root"
  exit "$status"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
[ -t 1 ] || say() { printf '\n%s\n' "$*"; }

# run EXPECTED COMMAND...: shows the command, runs it, insists on its exit status.
run() {
  expected=$1
  shift
  printf '$ numalet'
  for word in "$@"; do
    case $word in
      *[\;\ \(\|]*) printf " '%s'" "$word" ;;
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

# wait_for WHAT COMMAND...: until the command succeeds, at most 20 seconds.
wait_for() {
  what=$1
  shift
  for _ in $(seq 200); do
    if "$@" >/dev/null 2>&1; then return; fi
    sleep 0.1
  done
  echo "demo: waited in vain for $what" >&2
  return 1
}

# end_agent: every pod ends, with all of its processes; then the agent does.
end_agent() {
  pods=$("$numalet" ps --root "$root" | sed '1d;s/ .*//')
  # shellcheck disable=SC2086 # one word for each pod
  [ -z "$pods" ] || "$numalet" delete --root "$root" $pods
  wait_for "the pods to end" no_pods
  kill -TERM "$agent"
  wait "$agent"
  agent=
}
no_pods() { [ -z "$(ls -A "$root/pods")$(ls -A "$root/runs")" ]; }

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
run 0 simulate --release 1.36 -c documented/kubelet.yaml -m documented/machine.yaml \
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

# An agent that can not start ends the waiting too.
agent_is_ready() { grep -q 'Agent is ready' "$state/agent.log" || ! kill -0 "$agent"; }

memory_is_filled() { "$numalet" logs --root "$root" pinned | grep -q holds; }
agent_has_looked() { "$numalet" ps --root "$root" | grep -q '^pinned .* yes '; }

# Of a single CPU nothing can be had for oneself, but a part.
own=1
[ "$(getconf _NPROCESSORS_ONLN)" -gt 1 ] || own=100m

# The lowest node with memory. Where the kernel tells of no nodes there is one, number 0.
node=$(sed 's/[-,].*//' /sys/devices/system/node/has_memory 2>/dev/null || true)
node=${node:-0}

say "4. This machine, read from its own /sys"
run 0 machine

say "5. Two small pods on this machine, with 100Mi kept back on NUMA node $node"
run 0 simulate -c this-machine/kubelet.yaml \
  --reserved-memory "$node:memory=100Mi" this-machine/pods.yaml

if grep -q '^populated 1' "$cgroups/cgroup.events" 2>/dev/null; then
  echo "An agent keeps this machine already ($cgroups): the demo ends here."
  exit 0
fi

say "6. A program on a CPU and a NUMA node of its own; what the kernel says is printed by itself"
run 0 run --root "$root" --cpus "$own" --memory 64Mi -- \
  grep -E '^(Cpus|Mems)_allowed_list' /proc/self/status

say "7. An agent that keeps this machine, with a configuration that is fitted to it"
echo "\$ numalet agent --root $root &"
# In a session of its own: Ctrl-C is meant for this script, which ends the agent in good order.
setsid "$numalet" agent --root "$root" 2>"$state/agent.log" &
agent=$!
if ! wait_for "the agent" agent_is_ready || ! kill -0 "$agent"; then
  cat "$state/agent.log" >&2
  exit 1
fi
grep -F 'Agent is ready' "$state/agent.log"
if "$numalet" top --root "$root" --once | grep -q '^[^:]*: observing'; then
  cat "$state/agent.log"
  echo "Somebody else keeps this machine already, so the agent only looks on: the demo ends here."
  end_agent
  exit 0
fi

say "8. Three pods: one to be pinned, one for the shared CPUs, one that no machine can hold"
sed "s/cpu: \"1\"/cpu: \"$own\"/" this-machine/agent-pods.yaml >"$state/pods.yaml"
echo "\$ numalet apply --root $root -f this-machine/agent-pods.yaml"
"$numalet" apply --root "$root" -f "$state/pods.yaml" || [ $? -eq 1 ]
wait_for "the program to fill its memory" memory_is_filled
run 0 ps --root "$root"

say "The state file of the Memory Manager, in the kubelet's format:"
cat "$root/memory_manager_state"
echo

say "9. What the program says, and what the kernel says of it"
run 0 logs --root "$root" pinned
pid=$("$numalet" logs --root "$root" pinned | sed -n 's/.*process \([0-9]*\) holds.*/\1/p')
echo "\$ grep -E '^(Cpus|Mems)_allowed_list' /proc/$pid/status"
grep -E '^(Cpus|Mems)_allowed_list' "/proc/$pid/status"
if [ -r "/proc/$pid/numa_maps" ]; then
  echo "Its memory, summed from /proc/$pid/numa_maps:"
  awk '{ for (i = 2; i <= NF; i++) {
           if ($i ~ /^N[0-9]+=/) { split(substr($i, 2), part, "="); here[part[1]] = part[2] }
           if ($i ~ /^kernelpagesize_kB=/) { split($i, size, "=") } }
         for (node in here) { sum[node] += here[node] * size[2] }
         split("", here) }
       END { for (node in sum) { print "NUMA node " node ": " sum[node] " kB" } }' \
    "/proc/$pid/numa_maps" | sort
fi

say "The agent compares the same with its promise every 10 seconds; then ALIGNED says so"
wait_for "the agent to look" agent_has_looked
run 0 ps --root "$root"

say "10. The end: the pods go with all of their processes, then the agent"
echo "\$ numalet delete --root $root pinned shared too-large; kill $agent"
end_agent
if [ -d "/proc/$pid" ]; then
  echo "demo: process $pid still runs" >&2
  exit 1
fi
echo "Nothing is left of it."

say "11. The documented node in a browser: its pods, and why the second one was rejected"
cat <<EOF
cd examples && $numalet dashboard --open \\
  -c documented/kubelet.yaml -m documented/machine.yaml \\
  --reserved-memory '0:memory=3Gi;1:memory=2148Mi' \\
  documented/guaranteed.yaml documented/second.yaml
EOF
