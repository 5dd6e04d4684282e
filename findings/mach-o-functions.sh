#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# LIEF 1.0.0 (PyPI) gives a list of functions for a Mach-O file that has more and less than its functions. It joins the
# compact unwind information with the exports:
#   The end mark of the unwind information, the address behind the last function, is a function of the list.
#   An exported variable is one, too.
#   A function that has an entry of its own in the unwind information loses its name, although it is exported. One
#   without an entry, since the linker joins equal entries, keeps its name.
# The same file's symbol table has all names, and LIEF reads the function starts right. An expert expects `functions` to
# be these starts with these names.
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
venv/bin/pip install -q --disable-pip-version-check lief==1.0.0

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

cat >functions.py <<'END'
import sys
import lief
image = lief.MachO.parse("parts.dylib").at(0)
if sys.argv[1] == "starts":
    print(*(f"{start:x}" for start in image.function_starts.functions))
else:
    print(*(f"{function.address:x}:{function.name}" for function in image.functions))
END
expect 'symbols by llvm-nm' '4000:_first 4008:_second 4010:_third 4040:_hidden 8000:_table' \
  "$(sed 's/^0*//' nm.txt | awk '{ print $1 ":" $3 }' | xargs)"
expect 'function starts by LIEF' '4000 4008 4010 4040' "$(venv/bin/python functions.py starts)"
expect 'functions by LIEF' '4000: 4008:_second 4010: 4040: 4050: 8000:_table' \
  "$(venv/bin/python functions.py functions)"
