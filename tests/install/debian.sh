#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Builds the packages of Debian from a release archive in a fresh root, inspects them with lintian, runs their own tests,
# and removes them: nothing is left. Needs root, and apt-get's configured source of packages. Run by the lane release.
#   tests/install/debian.sh ARCHIVE    ARCHIVE: unspool-VERSION.tar.xz
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
# shellcheck source=tests/support/readme_command.sh
. "$top/tests/support/readme_command.sh"
# shellcheck source=tools/packages.sh
. "$top/tools/packages.sh"
need_tools mmdebstrap lintian
make_work
archive=$(cd "$(dirname "${1:?usage: debian.sh ARCHIVE}")" && pwd)/$(basename "$1")
version=$(basename "$archive" .tar.xz)
version=${version#unspool-}
root=$work/root
. /etc/os-release
suite=$VERSION_CODENAME
mirror=$(apt_mirror "$suite")
[[ -n $mirror ]] || fail "apt-get has no source of $suite"

# in_root COMMAND...: runs a command in the fresh root.
in_root() { chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/nonexistent LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"; }
trap 'if mountpoint -q "$root/proc"; then umount "$root/proc"; fi; rm -rf "$work"' EXIT
mmdebstrap --quiet --variant=apt "$suite" "$root" "$mirror"
mount -t proc proc "$root/proc"

mkdir "$root/build"
cp "$archive" "$root/build/unspool_$version.orig.tar.xz"
tar -C "$root/build" -xf "$archive"
tree=/build/unspool-$version
in_root apt-get -qq update
in_root apt-get -qq install -y --no-install-recommends dpkg-dev fakeroot build-essential >"$work/log" 2>&1
# The archive's tests have run in other lanes.
in_root env -C "$tree" DEB_BUILD_OPTIONS="nocheck parallel=$(nproc)" sh -c "$(readme_command 'packages of Debian')" >"$work/build.log" 2>&1 || {
  tail -n 60 "$work/build.log"
  fail "the commands of README.md"
  verdict
}
(cd "$root/build" && ls ./*.deb)
lintian --fail-on error,warning --allow-root "$root"/build/*.changes >"$work/lintian" 2>&1 || fail "lintian"
cat "$work/lintian"

# Nothing that is here before is changed or left.
state() { (cd "$root" && find etc usr bin sbin lib opt srv var/lib -xdev ! -path 'var/lib/dpkg/*' ! -path 'var/lib/apt/*' \
  ! -path 'etc/ld.so.cache' ! -path 'usr/share/info/*' -printf '%p %y %m\n' | LC_ALL=C sort); }
in_root apt-get -qq install -y --no-install-recommends gcc libc6-dev pkg-config cmake make xz-utils python3-cffi-backend >>"$work/log" 2>&1
state >"$work/before"
[[ $(wc -l <"$work/before") -gt 1000 ]] || fail "the root is not listed"
mapfile -t packages < <(cd "$root" && find build -name '*.deb' ! -name '*dbgsym*' -printf '/%p\n')
in_root dpkg -i "${packages[@]}" >"$work/install.log" 2>&1 || fail "dpkg -i: $(cat "$work/install.log")"
[[ $(in_root unspool --version) == "unspool $version" ]] || fail "unspool --version prints $(in_root unspool --version)"
for test in "$root$tree"/debian/tests/{link,python,stack}; do
  name=$(basename "$test")
  mkdir "$root/build/$name"
  in_root env -C "$tree" AUTOPKGTEST_TMP="/build/$name" "debian/tests/$name" >"$work/test.log" 2>&1 || fail "$name: $(cat "$work/test.log")"
done
in_root dpkg --purge python3-unspool unspool libunspool-dev libunspool0 >"$work/purge.log" 2>&1 || fail "dpkg --purge: $(cat "$work/purge.log")"
state >"$work/after"
diff "$work/before" "$work/after" || fail "left by the packages"
echo "built, inspected, installed, tested and removed in a root of $suite"
verdict
