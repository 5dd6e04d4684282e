# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: programs of 30 compilers and runtimes that others made: stacks, names, lines and ends, beside gdb and eu-stack (not in CI)
[[ $(uname -m) == x86_64 ]] || without "the programs are those for x86_64"
[[ $(id -u) == 0 ]] || without "a fresh root of Debian needs root"
need_build python3 python3-venv mmdebstrap
configure_in check
make_in check tools/unspool
venv=$(python_tools outside pip)

# The root is kept in the cache, and each program's result until the library or the programs change, so that a run that
# was stopped goes on where it ended.
home=$cache/outside
root=$home/root
results=$home/results/$(cat "$top/build/check/tools/unspool" "$top"/tests/outside/*.py | sha256sum | cut -c 1-16)
trap 'if mountpoint -q "$root/proc"; then umount "$root/proc"; fi' EXIT
. /etc/os-release

# make_root: makes the root. An attempt that failed leaves a folder, in which the next one would not begin.
make_root() {
  rm -rf --one-file-system "$root"
  mmdebstrap --quiet --variant=apt --include=gdb,elfutils,libc6-dbg,python3-venv "$VERSION_CODENAME" "$root" "$mirror" &&
    chroot "$root" apt-get -qq update
}
if [[ ! -e $home/done ]]; then
  mkdir -p "$home"
  mirror=$(apt_mirror "$VERSION_CODENAME")
  patiently "$top/build/lanes/outside-root.log" make_root
  : >"$home/done"
fi
mountpoint -q "$root/proc" || mount -t proc proc "$root/proc"
python3 -B "$top/tests/outside/run.py" "$root" "$results" --unspool "$top/build/check/tools/unspool" \
  --pip "$venv/bin/pip" --table "$work/table"
echo "The table is in $work/table; compare it with doc/other-programs.md."
