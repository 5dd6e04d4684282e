# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: every program of lines_matrix.sh; lines of Debian's largest debug information (a JVM, ceph-osd, a kernel) and of published dSYMs, compared with llvm-symbolizer and eu-addr2line, and with indexes

need_build clang-19 lld-19 llvm-19 lld-13 elfutils python3 dwz g++=g++ gobjc \
  g++-i686-linux-gnu g++-aarch64-linux-gnu g++-arm-linux-gnueabihf \
  gobjc-i686-linux-gnu gobjc-aarch64-linux-gnu gobjc-arm-linux-gnueabihf
configure_in check
make_in check tools/unspool tests/symbolize/lines_dump

# CI runs a sample of these.
(cd "$top/build/check" && USP_TEST_SCALE=10 "$top/tests/symbolize/lines_matrix.sh")

# fetch_debug_files PACKAGE...: downloads packages with debug information for amd64, without their dependencies, and
# unpacks them in the cache once.
fetch_debug_files() {
  local home=$cache/debug-files package
  rm -rf "$home.new"
  mkdir -p "$home.new/root" "$home.new/packages"
  apt_for amd64 update || true
  # The kernel's package has its version in its name.
  package=$(apt-cache -o "Dir::State::lists=$cache/amd64/apt/lists" -o Dir::State::status=/dev/null \
    -o "Dir::Cache=$cache/amd64/apt" depends linux-image-cloud-amd64-dbg | sed -n 's/^ *Depends: //p' | head -n 1)
  (cd "$home.new/packages" && apt_for amd64 download "$@" "$package") || return 1
  for package in "$home.new"/packages/*.deb; do dpkg -x "$package" "$home.new/root" || return 1; done
  rm -rf "$home.new/packages" "$home"
  : >"$home.new/done"
  mv "$home.new" "$home"
}
wanted=(openjdk-17-dbg ceph-osd-dbg)
if [[ ! -e $cache/debug-files/done ]] &&
  ! patiently "$top/build/lanes/debug-files.log" fetch_debug_files "${wanted[@]}"; then
  without "the packages cannot be fetched"
fi

# Compares large files only: a JDK has hundreds of similar small libraries, and kernel modules are not linked.
compared=0
while read -r file; do
  python3 -B "$top/tests/symbolize/lines_oracle.py" --dump "$top/build/check/tests/symbolize/lines_dump" --elfutils 1000 --least 100 "$file"
  # The index of the file has the same answers as the file, at each address where one can change.
  "$top/build/check/tools/unspool" index --quiet -o "$work/store" "$file"
  "$top/build/check/tools/unspool" index --verify -o "$work/store" "$file" | tee "$work/verified"
  grep -qE ' [0-9]{5,} addresses are equal ' "$work/verified"
  compared=$((compared + 1))
done < <(find "$cache/debug-files/root" -type f \( -name '*.debug' -size +5M -o -name 'vmlinux-*' \) | sort)
[[ $compared -ge 6 ]]

if [[ -n ${USP_CORPUS_DIR-} ]] || command -v npm >/dev/null; then
  make_in check check-corpus
else
  lacks "published dSYMs, which npm fetches"
fi
