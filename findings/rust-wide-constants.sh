#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# GNU c++filt of binutils 2.40 prints wrong values for Rust constants of more than 64 bits (v0 mangling): it leaves out
# the first hexadecimal digit and appends the terminator "_". Constants of up to 64 bits are right.
# An expert expects the value, or the mangled name if the demangler does not know the encoding, but no other value.
# Two instances of a generic function whose constants differ in the first digit get the same name.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# Unpacks the packages and their missing dependencies here. The system's C library stays in use.
packages=(
  binutils=2.40-2 binutils-common=2.40-2 binutils-x86-64-linux-gnu=2.40-2 libbinutils=2.40-2 libctf0=2.40-2
  libctf-nobfd0=2.40-2
)
mkdir -p deb/partial root
apt-get -y -q --no-install-recommends --download-only --reinstall --allow-downgrades -o Debug::NoLocking=1 \
  -o Dir::Cache::archives="$work/deb" install "${packages[@]}" >apt.log 2>&1 || { cat apt.log; exit 1; }
rm -f deb/libc6_*
for file in deb/*.deb; do dpkg -x "$file" root; done
export LD_LIBRARY_PATH=$work/root/usr/lib/x86_64-linux-gnu
PATH=$work/root/usr/bin:$PATH

# expect WHAT EXPECTED ACTUAL: prints the answer and ends the script if it is another one than the one seen before.
expect() {
  echo "$1: $3"
  [[ $2 == "$3" ]] || { echo "changed; it was: $2"; exit 1; }
}

# demangle CONSTANT: the name of a::b::<CONSTANT>.
demangle() { x86_64-linux-gnu-c++filt "_RINvC1a1bK$1E"; }
# "y" is u64, "o" is u128.
expect 'u64 0x8000000000000000' 'a[0]::b::<9223372036854775808: u64>' "$(demangle y8000000000000000_)"
expect 'u128 0x123456789abcdef01' 'a[0]::b::<0x23456789abcdef01_: u128>' "$(demangle o123456789abcdef01_)"
expect 'u128 0x923456789abcdef01' 'a[0]::b::<0x23456789abcdef01_: u128>' "$(demangle o923456789abcdef01_)"
