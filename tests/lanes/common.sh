# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# What the lanes share. Sourced by tools/ci-lane, in a shell that ends at the first failure, before the lane's own file.

# shellcheck source=tools/packages.sh
. "$top/tools/packages.sh"
# shellcheck source=tools/build.sh
. "$top/tools/build.sh"
# shellcheck source=tests/support/beside.sh
. "$top/tests/support/beside.sh"

# In CI a test that is skipped because a tool is missing is a test that never runs.
export USP_REQUIRE_TOOLS=1

# A folder for what a lane writes while it runs.
work=$top/build/lanes/$lane.work
rm -rf "$work"
mkdir -p "$work"

# Downloads that outlive a clone.
cache=${XDG_CACHE_HOME:-${HOME:-$top/build}/.cache}/unspool

# shellcheck disable=SC2086 # words on purpose
need_build() { need $build_packages check liblzma-dev zlib1g-dev libzstd-dev libarchive-dev libdebuginfod-dev "$@"; }

# build_and_check NAME ARGUMENT...: configures, builds and runs the unit tests; the scripts, which look at the same
# source in each lane, are left to the lanes check and format. The static library, for which everything is compiled a second
# time, the lanes check, apple, fuzz and distcheck make.
build_and_check() {
  local name=$1
  shift
  configure_in "$name" --disable-static "$@"
  make_in "$name" all
  check_in "$name" "TESTS=$(programs "$name" test "$left_out")" "${check_arguments[@]}"
}
left_out='^$'
check_arguments=()

# programs NAME KIND PATTERN: the test programs of a build, of which `make print-KIND-programs` has the list, but for those that
# match.
programs() { make -s -C "$top/build/$1" "print-$2-programs" | grep -vE "$3" | tr '\n' ' '; }

# Suites that wait for long, or start very many programs: for lanes that differ in the compiler or the processor alone. The lane
# check has them.
# shellcheck disable=SC2034 # for lanes
patient='/test_linux_(exec|no_trace|process_sampler|sampler|shared_signal)$'

# lively NAME: the suites of a build that depend on the kernel, but for those that repeat for minutes what depends on neither
# the processor nor libc: the lanes check, clang, i686 and asan have them.
lively() { programs "$1" live '/test_linux_(contention|faults|storm_bare|walks)$'; }

# check_rest NAME SCRIPT...: these scripts of make check, in build/NAME, where what they run is built; but for those that have passed
# there since .ci/run began, when no package has been installed since: the same build and the same tools give the same answer. A
# lane that is run by itself runs all of them.
check_rest() {
  local build=$top/build/$1 test result rest=()
  for test in "${@:2}"; do
    result=$build/${test%.sh}.trs
    if [[ -z ${USP_CI_BEGAN-} || ! $result -nt $USP_CI_BEGAN || $top/build/packages.log -nt $result ]] ||
      ! grep -qx ':test-result: PASS' "$result"; then
      rest+=("$test")
    fi
  done
  echo "$(($# - 1 - ${#rest[@]})) of $(($# - 1)) scripts have passed before"
  [[ ${#rest[@]} -eq 0 ]] || make_in "$1" check-TESTS VERBOSE=1 "TESTS=${rest[*]}"
}

# run_tests_by COMMAND...: what runs each test program from here on: an emulator, a checker.
run_tests_by() { check_arguments=("LOG_COMPILER=$*"); }

# run_tests_by_emulator COMMAND...: the same with what tests/support/under.h does for user-mode emulators.
run_tests_by_emulator() {
  run_tests_by "$@"
  export USP_TEST_UNDER="$*" CK_TIMEOUT_MULTIPLIER=20
}

# apt_for PROCESSOR ARGUMENT...: apt-get for another processor's packages with its own lists in the cache, so that this
# machine's list of foreign architectures stays as it is and root is not needed.
apt_for() {
  local processor=$1 state=$cache/$1/apt
  shift
  mkdir -p "$state/lists/partial" "$state/archives/partial"
  apt-get -q -o "APT::Architecture=$processor" -o "APT::Architectures::=$processor" -o "Dir::State::lists=$state/lists" \
    -o Dir::State::status=/dev/null -o "Dir::Cache=$state" -o Debug::NoLocking=true -o APT::Sandbox::User=root "$@"
}

# download_for PROCESSOR FOLDER PACKAGE...: the packages' files, nothing else, in the folder.
download_for() {
  local processor=$1 folder=$2
  shift 2
  rm -rf "$folder"
  mkdir -p "$folder"
  apt_for "$processor" update
  (cd "$folder" && apt_for "$processor" download "$@")
}

# unpack_for PROCESSOR PACKAGE...: Debian's packages for another processor, unpacked in the cache and not installed
# (installing them may fail on versions that differ). They lie in $cache/PROCESSOR/root then.
unpack_for() {
  local processor=$1 home=$cache/$1 package missing=()
  shift
  mkdir -p "$home/root" "$home/done"
  for package; do [[ -e $home/done/$package ]] || missing+=("$package"); done
  [[ ${#missing[@]} -gt 0 ]] || return 0
  echo "fetching for $processor: ${missing[*]}"
  patiently "$home/log" download_for "$processor" "$home/new" "${missing[@]}"
  for package in "$home"/new/*.deb; do dpkg -x "$package" "$home/root"; done
  rm -rf "$home/new"
  for package in "${missing[@]}"; do : >"$home/done/$package"; done
}

# check_for PROCESSOR MULTIARCH: the library Check for another processor, found by pkg-config from here on.
check_for() {
  unpack_for "$1" check libsubunit-dev
  # Without the shared one the static one is linked, and a test program needs nothing but libc when it runs.
  rm -f "$cache/$1/root/usr/lib/$2"/libsubunit.so
  export PKG_CONFIG_SYSROOT_DIR=$cache/$1/root
  export PKG_CONFIG_LIBDIR=$PKG_CONFIG_SYSROOT_DIR/usr/lib/$2/pkgconfig
}
