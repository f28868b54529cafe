# What runs in a guest once it has its root: finish it, check what was promised, run the command
# and tell how it ended. Under systemd this is a service, else it is the first process.
. /lab/job/settings
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export HOME=/root LANG=C.UTF-8
give_up() {
  echo "numalet-lab: $*" > /dev/ttyS0
  echo b > /proc/sysrq-trigger
  sleep 1000
}

if [ "$lab_init" = none ]; then
  mkdir -p /dev/pts /dev/shm /dev/hugepages
  mount -t devpts devpts /dev/pts
  mount -t tmpfs shm /dev/shm
  mount -t tmpfs run /run
  mount -t hugetlbfs hugetlbfs /dev/hugepages
  mount -t cgroup2 cgroup2 /sys/fs/cgroup
  for link in fd:/proc/self/fd stdin:fd/0 stdout:fd/1 stderr:fd/2; do
    ln -sfn "${link#*:}" "/dev/${link%%:*}"
  done
fi
echo numalet-lab > /proc/sys/kernel/hostname
if command -v ip > /dev/null; then ip link set lo up; else ifconfig lo up; fi

# The kernel reserves what it can and says nothing about the rest.
echo "$lab_pages" | while read -r node size_kib count; do
  [ -n "$node" ] || continue
  pool=/sys/devices/system/node/node$node/hugepages/hugepages-${size_kib}kB/nr_hugepages
  there=$(cat "$pool" 2> /dev/null || echo 0)
  [ "$there" -ge "$count" ] || give_up "node $node has $there of $count pages of $size_kib KiB"
done

port=/dev/ttyS1
errors=/dev/ttyS2
if [ "$lab_terminal" = none ]; then
  # The ports are terminals to programs, and are none to whoever reads what comes out.
  export TERM=dumb NO_COLOR=1
  stty -F $port raw -echo
  stty -F $errors raw -echo
else
  stty -F $port sane rows "$lab_rows" columns "$lab_columns"
  export TERM="$lab_terminal"
fi
printf '\036%s ready\n' "$lab_token" > $port
cd "$lab_folder" || give_up "there is no folder $lab_folder"
if [ "$lab_terminal" = none ]; then
  sh /lab/job/command < /dev/null > $port 2> $errors
else
  setsid -c -w sh /lab/job/command < $port > $port 2>&1
fi
status=$?
sync
# Setting a port waits until everything written to it is out.
stty -F $errors raw
printf '\036%s exit %s\n' "$lab_token" "$status" > $port
echo b > /proc/sysrq-trigger
sleep 1000
