# SPDX-License-Identifier: Apache-2.0
# Functions for running a real systemd as pid 1 in a temporary copy-on-write view of this machine's
# root. Source this file.
#
#   container_start        boots it; afterwards ROOT is its root folder as seen from outside
#   container_run CMD...   runs a command in it, as root, with a clean environment
#   container_stop         halts it and removes all its files; call it from an EXIT trap
#
# Needs root, systemd-container, dbus, and overlayfs in the kernel. Several may run at once.

_base='' _nspawn='' _leader='' _cgroups=() ROOT=''

container_start() {
  _base=$(mktemp -d /tmp/graphd-systemd.XXXXXX)
  # The upper layer must not be on the same file system as the lower one.
  mount -t tmpfs -o size=3G,mode=755 graphd-systemd "$_base"
  mkdir "$_base"/upper "$_base"/work "$_base"/root
  ROOT=$_base/root
  mount -t overlay overlay \
    -o "lowerdir=/,upperdir=$_base/upper,workdir=$_base/work" "$ROOT"
  _quieten
  local name hierarchy
  name=$(basename "$_base" | tr -d .)
  # Use a separate cgroup: otherwise containers share supervisor/ and payload/ and leave them
  # behind.
  for hierarchy in /sys/fs/cgroup/systemd /sys/fs/cgroup/unified /sys/fs/cgroup; do
    [ -e "$hierarchy/cgroup.procs" ] || continue
    mkdir "$hierarchy/$name" && _cgroups+=("$hierarchy/$name")
  done
  (
    for hierarchy in "${_cgroups[@]}"; do echo "$BASHPID" >"$hierarchy/cgroup.procs"; done
    exec systemd-nspawn --quiet --register=no --keep-unit --private-network --machine="$name" \
      --resolv-conf=off --timezone=off --link-journal=no --console=pipe \
      --kill-signal=SIGRTMIN+3 -D "$ROOT" --boot systemd.unit=multi-user.target \
      systemd.show_status=0
  ) </dev/null >"$_base/console" 2>&1 &
  _nspawn=$!
  _wait_for_boot
}

# Services that are enabled on the host are not part of the test.
_quieten() {
  local units=$ROOT/etc/systemd/system unit
  mkdir -p "$units"
  rm -rf "$units"/*.wants
  for unit in ssh systemd-timesyncd systemd-logind getty@tty1 console-getty networking \
    systemd-networkd systemd-networkd-wait-online systemd-resolved systemd-update-utmp \
    systemd-update-utmp-runlevel postgresql cron apt-daily apt-daily-upgrade; do
    ln -sf /dev/null "$units/$unit.service"
  done
  : >"$ROOT/etc/machine-id"
  : >"$ROOT/etc/fstab"
  rm -f "$ROOT/etc/resolv.conf"
  # Images of containers have it, to keep packages from starting services.
  rm -f "$ROOT/usr/sbin/policy-rc.d"
}

_wait_for_boot() {
  local state='' deadline=$((SECONDS + 60))
  while [ $SECONDS -lt $deadline ]; do
    kill -0 "$_nspawn" 2>/dev/null || break
    _leader=$(cut -d' ' -f1 "/proc/$_nspawn/task/$_nspawn/children" 2>/dev/null || true)
    if [ -n "$_leader" ] && [ "$(cat "/proc/$_leader/comm" 2>/dev/null)" = systemd ]; then
      state=$(container_run systemctl is-system-running 2>/dev/null || true)
      case $state in running|degraded) return 0 ;; esac
    fi
    sleep 0.05
  done
  echo "systemd did not boot in the container (state '$state'); its console:" >&2
  cat "$_base/console" >&2
  return 1
}

container_run() {
  nsenter --target "$_leader" --mount --uts --ipc --net --pid --cgroup --root --wd \
    env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 HOME=/root \
    "$@"
}

container_stop() {
  local folder tries
  set +e  # if a command fails, still remove the rest
  if [ -n "$_nspawn" ] && kill -0 "$_nspawn" 2>/dev/null; then
    kill -TERM "$_nspawn"  # shuts the container down
    for tries in $(seq 200); do kill -0 "$_nspawn" 2>/dev/null || break; sleep 0.05; done
    kill -KILL "$_nspawn" 2>/dev/null
    wait "$_nspawn" 2>/dev/null
  fi
  if [ -n "$_base" ]; then
    umount "$_base/root"
    umount "$_base"
    rmdir "$_base"
  fi
  for folder in "${_cgroups[@]}"; do find "$folder" -depth -type d -exec rmdir {} + 2>/dev/null; done
  return 0
}
