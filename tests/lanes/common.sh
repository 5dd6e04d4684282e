# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Shared by the lanes. tools/ci-lane sources it before the lane's own file, in a shell that ends at the first failure.

# shellcheck source=tools/packages.sh
. "$top/tools/packages.sh"
# shellcheck source=tools/build.sh
. "$top/tools/build.sh"
# shellcheck source=tests/support/beside.sh
. "$top/tests/support/beside.sh"

# In CI, a test whose tool is missing must fail: otherwise it would never run.
export USP_REQUIRE_TOOLS=1

# A folder for the lane's temporary files.
work=$top/build/lanes/$lane.work
rm -rf "$work"
mkdir -p "$work"

# lacks REASON: reports what the lane cannot prove on this machine. CI's last line names it.
lacks() {
  echo "left out: $*"
  echo "$*" >>"$top/build/lanes/$lane.without"
}

# without REASON: ends the lane, because Debian does not have what it needs.
without() {
  lacks "$*"
  exit 77
}

# A folder for downloads, which is kept when a clone is deleted.
cache=${XDG_CACHE_HOME:-${HOME:-$top/build}/.cache}/unspool

# shellcheck disable=SC2086 # words on purpose
need_build() { need $build_packages check liblzma-dev zlib1g-dev libdeflate-dev libzstd-dev libarchive-dev libdebuginfod-dev "$@"; }

# build_and_check NAME ARGUMENT...: configures, builds and runs the unit tests. The scripts inspect the same source in
# each lane, so only the lanes check and format run them. The static library, for which everything is compiled a second
# time, is built by the lanes check, apple, fuzz and distcheck.
build_and_check() {
  local name=$1
  shift
  configure_in "$name" --disable-static "$@"
  make_in "$name" all
  check_in "$name" "TESTS=$(programs "$name" test "$left_out")" "${check_arguments[@]}"
}
left_out='^$'
check_arguments=()

# programs NAME KIND PATTERN: prints the test programs of a build (`make print-KIND-programs`), except those that match.
programs() { make -s -C "$top/build/$1" "print-$2-programs" | grep -vE "$3" | tr '\n' ' '; }

# Matches suites that wait for long or start very many programs. Lanes that differ only in the compiler or the processor
# leave them out; the lane check runs them.
# shellcheck disable=SC2034 # for lanes
patient='/test_linux_(exec|no_trace|process_sampler|sampler|shared_signal)$'

# lively NAME: prints the suites of a build that depend on the kernel. Left out are suites that repeat for minutes what
# depends on neither the processor nor libc; the lanes check, clang, i686 and asan run these.
lively() { programs "$1" live '/test_linux_(faults|storm_bare|walks)$'; }

# check_rest NAME SCRIPT...: runs these scripts of make check in build/NAME, where the programs they need are built.
# Leaves out scripts that have passed there since .ci/run began, unless a package was installed since: the same build
# and tools give the same result. A script that ran as a sample is run again if the lane sets USP_TEST_SCALE. A lane
# that is run by its name runs all of them.
check_rest() {
  local build=$top/build/$1 test result rest=()
  for test in "${@:2}"; do
    result=$build/${test%.sh}.trs
    if [[ -z ${USP_CI_BEGAN-} || ! $result -nt $USP_CI_BEGAN || $top/build/packages.log -nt $result ]] ||
      ! grep -qx ':test-result: PASS' "$result" ||
      { [[ ${USP_TEST_SCALE:-0} -ge 1 ]] && grep -q '^sample: ' "${result%.trs}.log"; }; then
      rest+=("$test")
    fi
  done
  echo "$(($# - 1 - ${#rest[@]})) of $(($# - 1)) scripts have passed before"
  [[ ${#rest[@]} -eq 0 ]] || make_in "$1" check-TESTS VERBOSE=1 "TESTS=${rest[*]}"
}

# run_tests_by COMMAND...: makes later test programs run under COMMAND, such as an emulator or a checker.
run_tests_by() { check_arguments=("LOG_COMPILER=$*"); }

# run_tests_by_emulator COMMAND...: like run_tests_by, with the settings of tests/support/under.h for user-mode
# emulators. A test is run again if the emulator itself failed.
run_tests_by_emulator() {
  run_tests_by "$top/tests/support/by_emulator.sh" "$@"
  export USP_TEST_UNDER="$*" CK_TIMEOUT_MULTIPLIER=20
}

# apt_for PROCESSOR ARGUMENT...: runs apt-get for another processor's packages, with lists of its own in the cache. So
# this machine's foreign architectures stay unchanged, and root is not needed.
apt_for() {
  local processor=$1 state=$cache/$1/apt
  shift
  mkdir -p "$state/lists/partial" "$state/archives/partial"
  apt-get -q -o "APT::Architecture=$processor" -o "APT::Architectures::=$processor" -o "Dir::State::lists=$state/lists" \
    -o Dir::State::status=/dev/null -o "Dir::Cache=$state" -o Debug::NoLocking=true -o APT::Sandbox::User=root "$@"
}

# download_for PROCESSOR FOLDER PACKAGE...: downloads these packages, without their dependencies, to the folder.
download_for() {
  local processor=$1 folder=$2
  shift 2
  rm -rf "$folder"
  mkdir -p "$folder"
  apt_for "$processor" update
  (cd "$folder" && apt_for "$processor" download "$@")
}

# unpack_for PROCESSOR PACKAGE...: unpacks Debian's packages for another processor in $cache/PROCESSOR/root. They are
# not installed, because that may fail when versions differ.
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

# check_for PROCESSOR MULTIARCH: unpacks the library Check for another processor, which pkg-config then finds.
check_for() {
  unpack_for "$1" check libsubunit-dev
  # Without the shared library the static one is linked, so a test program needs only libc when it runs.
  rm -f "$cache/$1/root/usr/lib/$2"/libsubunit.so
  export PKG_CONFIG_SYSROOT_DIR=$cache/$1/root
  export PKG_CONFIG_LIBDIR=$PKG_CONFIG_SYSROOT_DIR/usr/lib/$2/pkgconfig
}

# build_armv7: configures and builds the library and the command for 32-bit arm, Thumb, in build/armv7. clang's frame
# records are Apple's.
build_armv7() {
  check_for armhf arm-linux-gnueabihf
  configure_in armv7 --disable-static --host=arm-linux-gnueabihf --enable-werror "CC=clang-19 --target=arm-linux-gnueabihf -mthumb"
  make_in armv7 all
}

# python_tools NAME PACKAGES: installs Python packages in a virtual environment in the cache, and prints its folder.
python_tools() {
  local folder=$cache/$1 wanted=$2
  if [[ ! -f $folder/done || $(<"$folder/done") != "$wanted" ]]; then
    rm -rf "$folder"
    python3 -m venv "$folder"
    # shellcheck disable=SC2086 # words on purpose
    patiently "$top/build/lanes/$1-pip.log" "$folder/bin/pip" install -q $wanted
    echo "$wanted" >"$folder/done"
  fi
  echo "$folder"
}
