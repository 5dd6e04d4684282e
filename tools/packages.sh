# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# Functions that check and install Debian packages for tools/quickstart and the lanes. They install what is missing, and
# say what to do where they cannot. Sourced with $top set to the project's folder; only defines functions.

# The packages that a build of the library needs, in the form that need() takes.
# shellcheck disable=SC2034 # used where this is sourced
build_packages='gcc=gcc libc6-dev make=make autoconf=autoconf automake=automake libtool=libtoolize pkg-config=pkg-config'

# Prints the packages of "$@" that are missing. PACKAGE=COMMAND: on systems without dpkg, the command stands for the
# package.
missing_packages() {
  for wanted; do
    package=${wanted%%=*}
    command=${wanted#"$package"}
    command=${command#=}
    if command -v dpkg-query >/dev/null 2>&1; then
      # dpkg-query prints several lines for a package that is installed for more than one processor.
      case $(dpkg-query -W -f='${Status}\n' "$package" 2>/dev/null) in
      *'install ok installed'*) continue ;;
      esac
    elif [ -z "$command" ] || command -v "$command" >/dev/null 2>&1; then
      continue
    fi
    printf ' %s' "$package"
  done
}

# apt_mirror RELEASE: prints the address of the archive from which this machine's own apt has the release.
apt_mirror() {
  apt-get indextargets "Codename: $1" "Created-By: Packages" | sed -n 's,^Base-URI: \(.*\)/dists/.*,\1,p' | head -n 1
}

# Prints the command that runs another one as root; fails when there is none.
as_root() {
  [ "$(id -u)" -ne 0 ] || return 0
  sudo -n true 2>/dev/null && echo 'sudo -n'
}

# patiently LOG COMMAND...: makes up to five attempts, because a mirror can be inconsistent during an update. LOG has
# the last attempt's output, which is shown when all have failed.
patiently() {
  log=$1
  shift
  mkdir -p "$(dirname "$log")"
  for attempt in 1 2 3 4 5; do
    "$@" >"$log" 2>&1 && return 0
    [ "$attempt" -eq 5 ] || sleep $((attempt * 5))
  done
  tail -n 20 "$log" >&2
  return 1
}

# Updates the lists first, which can be missing or old. If that fails, the old lists may suffice.
install_packages() {
  $root apt-get -q update
  $root env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 install -y --no-install-recommends "$@"
}

# need PACKAGE[=COMMAND]...: returns when all are installed; otherwise prints the list and ends the script.
need() {
  missing=$(missing_packages "$@")
  [ -n "$missing" ] || return 0
  if ! command -v apt-get >/dev/null 2>&1; then
    echo "This system has no apt-get. Please install what Debian 12 calls:$missing" >&2
    exit 1
  fi
  if ! root=$(as_root); then
    echo "Not root, and no sudo without a password. Please run: apt-get install --no-install-recommends$missing" >&2
    exit 1
  fi
  echo "installing:$missing"
  # shellcheck disable=SC2086 # words on purpose
  patiently "$top/build/packages.log" install_packages $missing || {
    echo "apt-get could not install:$missing" >&2
    exit 1
  }
}
