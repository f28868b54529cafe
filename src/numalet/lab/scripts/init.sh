#!/bin/busybox sh
# The first process of a guest, in the archive that its kernel unpacked: put a root together
# from this machine's folder, and hand over to what is to run there.
busybox=/bin/busybox
give_up() {
  echo "numalet-lab: $*" > /dev/ttyS0
  # With -no-reboot this ends QEMU at once.
  echo b > /proc/sysrq-trigger
  $busybox sleep 1000
}

$busybox mkdir -p /proc /sys /dev /lower /memory /root
$busybox mount -t devtmpfs dev /dev
$busybox mount -t proc proc /proc
$busybox mount -t sysfs sys /sys
. /lab/settings

for module in $($busybox cat /modules/order); do
  $busybox insmod "/modules/$module.ko" || give_up "the kernel does not take the module $module"
done

over9p=trans=virtio,version=9p2000.L,msize=512000
# Nobody changes the root while the guest runs, so what was read once may be kept.
$busybox mount -t 9p -o "ro,$over9p,cache=loose" root /lower || give_up "no root over 9p"
$busybox mount -t tmpfs -o size=80% memory /memory
$busybox mkdir /memory/upper /memory/work
$busybox mount -t overlay -o lowerdir=/lower,upperdir=/memory/upper,workdir=/memory/work \
  root /root || give_up "no overlay"
cd /root || give_up "no root"
$busybox mkdir -p proc sys dev tmp run lab/job

echo "$lab_shares" | while read -r tag path; do
  [ -n "$tag" ] || continue
  $busybox mkdir -p "/root$path"
  $busybox mount -t 9p -o "$over9p,cache=none" "$tag" "/root$path" \
    || give_up "no folder at $path"
done

$busybox cp /lab/* lab/job/
for place in proc sys dev; do $busybox mount --move "/$place" "$place"; done
if [ "$lab_init" = systemd ]; then
  $busybox mkdir -p etc/systemd/system
  $busybox cp lab/job/numalet-lab.* etc/systemd/system/
  # With these it takes itself for the init of a container, and reads no kernel command line.
  $busybox rm -f .dockerenv run/.containerenv
  # Services want basic things to be set up, and on this root that would be all of this machine's:
  # files in /tmp tidied, devices waited for. The guest has what it needs, and keeps the journal.
  for wanted in lib/systemd/system/sysinit.target.wants/* \
    lib/systemd/system/local-fs.target.wants/* lib/systemd/system/timers.target.wants/* \
    etc/systemd/system/sysinit.target.wants/* etc/systemd/system/local-fs.target.wants/* \
    etc/systemd/system/timers.target.wants/* etc/systemd/system/sockets.target.wants/*; do
    case $wanted in
      *journald*) ;;
      *) $busybox rm -f "$wanted" ;;
    esac
  done
  [ -x lib/systemd/systemd ] || give_up "the root has no systemd"
  exec $busybox switch_root /root /lib/systemd/systemd
fi
exec $busybox switch_root /root /bin/sh /lab/job/run
