#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ktool 2.0.0 (k2l of PyPI) lists the last function of a Mach-O file several times. The list of function starts
# (LC_FUNCTION_STARTS) is ULEB128 differences with a zero behind the last one, and linkers pad it to 8 bytes with more
# zeros. ktool takes each zero for a further function at the same address, so "ktool list --funcs" has one to eight
# lines too many. llvm-objdump 19.1.7 ends at the first zero. An expert expects the zero to end the list, since two
# functions do not begin at one address.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# Unpacks the packages and their missing dependencies here. The system's C library stays in use.
packages=(
  clang-19=1:19.1.7-3~deb12u1 libclang-cpp19=1:19.1.7-3~deb12u1 llvm-19=1:19.1.7-3~deb12u1
  libllvm19=1:19.1.7-3~deb12u1 lld-19=1:19.1.7-3~deb12u1
)
mkdir -p deb/partial root
apt-get -y -q --no-install-recommends --download-only --reinstall --allow-downgrades -o Debug::NoLocking=1 \
  -o Dir::Cache::archives="$work/deb" install "${packages[@]}" >apt.log 2>&1 || { cat apt.log; exit 1; }
rm -f deb/libc6_*
for file in deb/*.deb; do dpkg -x "$file" root; done

python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check k2l==2.0.0

# expect WHAT EXPECTED ACTUAL: prints the answer and ends the script if it is another one than the one seen before.
expect() {
  echo "$1: $3"
  [[ $2 == "$3" ]] || { echo "changed; it was: $2"; exit 1; }
}

cat >parts.c <<'END'
int table[2] = {1, 2};
__attribute__((noinline)) static int hidden(int x) { return x * table[0]; }
int first(int x) { return x + 1; }
int second(int x) { return x + 2; }
int third(int x) { return hidden(x) + hidden(table[1]); }
END
(
  export LD_LIBRARY_PATH=$work/root/usr/lib/x86_64-linux-gnu
  PATH=$work/root/usr/bin:$PATH
  clang-19 --target=arm64-apple-ios16.0 -O1 -c parts.c -o parts.o
  ld64.lld-19 -arch arm64 -dylib -platform_version ios 16.0 16.0 -install_name /parts parts.o -o parts.dylib
  llvm-nm-19 -n parts.dylib >nm.txt
  llvm-objdump-19 --macho --function-starts parts.dylib >starts.txt
)

expect 'functions by llvm-nm' 'first second third hidden' "$(awk '$2 ~ /[Tt]/ { print substr($3, 2) }' nm.txt | xargs)"
expect 'starts by llvm-objdump' '4000 4008 4010 4040' "$(sed -n 's/^0*\([0-9a-f]\{4\}\)$/\1/p' starts.txt | xargs)"
expect 'functions by ktool' '0x4000 0x4008 0x4010 0x4040 0x4040 0x4040' \
  "$(venv/bin/ktool list --funcs parts.dylib | awk '/->/ { print $1 }' | xargs)"
