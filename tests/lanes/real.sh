# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: every instruction of real Debian programs for four processors is stepped, and its stack is compared (tests/real)

# The lane real-sample runs the sample of run.sh.
sample=()
[[ $lane != real-sample ]] || sample=(--sample)

# Programs that run natively need an x86_64 processor; the other programs alone would be too small a sample.
[[ $(uname -m) == x86_64 ]] || without "programs for x86_64 and i386 are stepped natively"
need_build python3 qemu-user libc6-i386 llvm-19 clang-19 g++ g++-i686-linux-gnu g++-aarch64-linux-gnu \
  g++-arm-linux-gnueabihf
configure_in check
make_in check tests/real/stepper
"$top/build/check/tests/real/stepper" --steps 100 --runs 1 /bin/true >/dev/null || without "programs cannot be traced"

# has_programs FOLDER PACKAGE...: returns whether these packages were unpacked there.
has_programs() {
  local package
  [[ -f $1/done ]] || return 1
  for package in "${@:2}"; do [[ " $(<"$1/done") " == *" $package "* ]] || return 1; done
}

# fetch_programs PROCESSOR PACKAGE...: downloads the packages with their dependencies, and unpacks them in the cache
# once.
fetch_programs() {
  local processor=$1 home=$cache/$1/programs package
  shift
  ! has_programs "$home" "$@" || return 0
  echo "fetching programs for $processor"
  rm -rf "$home"
  mkdir -p "$home/root"
  # A mirror that is being updated still has the packages.
  apt_for "$processor" update || true
  apt_for "$processor" install -y --no-install-recommends --download-only "$@" || return 1
  for package in "$cache/$processor"/apt/archives/*.deb; do dpkg -x "$package" "$home/root" || return 1; done
  rm -f "$cache/$processor"/apt/archives/*.deb
  echo "$*" >"$home/done"
}

read -ra packages <<<"$("$top/tests/real/run.sh" "${sample[@]}" --packages)"
chosen=()
for processor in amd64 i386 arm64 armhf; do
  if patiently "$top/build/lanes/programs-$processor.log" fetch_programs "$processor" "${packages[@]}"; then
    chosen+=(--processor "$processor")
  else
    lacks "the programs for $processor cannot be fetched"
  fi
done
[[ ${#chosen[@]} -gt 0 ]] || without "there are no programs to step"
(cd "$top/build/check" && "$top/tests/real/run.sh" "${sample[@]}" --roots "$cache" --jobs "$jobs" "${chosen[@]}")
