#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# LLVM 19.1.7 misreads names that its own compiler writes for C++20 templates with a requires clause in their head:
# clang mangles the template parameter once, in the clause, and refers to it by a substitution in the parameter list.
# llvm-cxxfilt and llvm-symbolizer print this substitution as an invented name, "T" or "T0", instead of the type, and
# print no clause. So the report has "T0 second<char, int>(char, T0)", although the name holds the type: int. With the
# clause behind the parameter list, the type is right. An expert expects the types of the instance, as in every other
# name of a template, since the demangler and the compiler are of the same release.
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
export LD_LIBRARY_PATH=$work/root/usr/lib/x86_64-linux-gnu
PATH=$work/root/usr/bin:$PATH

# expect WHAT EXPECTED ACTUAL: prints the answer and ends the script if it is another one than the one seen before.
expect() {
  echo "$1: $3"
  [[ $2 == "$3" ]] || { echo "changed; it was: $2"; exit 1; }
}

cat >templates.cpp <<'END'
template<class T> concept Word = sizeof(T) > 1;
template<class T> requires Word<T> void first(T *, T) {}
template<class T, class U> requires Word<U> U second(T, U value) { return value; }
template<class T> void behind(T) requires Word<T> {}
template void first<int>(int *, int);
template int second<char, int>(char, int);
template void behind<int>(int);
END
clang-19 --target=x86_64-linux-gnu -std=c++20 -c templates.cpp -o templates.o
ld.lld-19 -shared templates.o -o templates.so

# address FUNCTION: the address of the instance whose mangled name holds the name of the function.
address() { llvm-nm-19 --defined-only templates.so | awk -v name="$1" 'index($3, name) { print "0x" $1 }'; }
symbolizer() { llvm-symbolizer-19 -e templates.so "$(address "$1")" | head -n 1; }
expect 'first, mangled' _Z5firstIiQ4WordIT_EEvPS0_S0_ "$(llvm-nm-19 templates.so | awk '/first/ { print $3 }')"
expect 'first, demangled' 'void first<int>(T*, T)' "$(llvm-cxxfilt-19 _Z5firstIiQ4WordIT_EEvPS0_S0_)"
expect 'first, by address' 'void first<int>(T*, T)' "$(symbolizer first)"
expect 'second, by address' 'T0 second<char, int>(char, T0)' "$(symbolizer second)"
expect 'behind, by address' 'void behind<int>(int) requires Word<int>' "$(symbolizer behind)"
