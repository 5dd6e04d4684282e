#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Compares demangling with llvm-cxxfilt: Rust v0 names made by rustc (tests/demangle/rust_v0.txt, and where rustc is
# installed those of a program and of the standard library), and C++ names of libraries on this machine.
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
need_tools llvm-cxxfilt-19
make_work

# compare WHAT: checks that every name in $work/names is demangled, and as llvm-cxxfilt demangles it.
compare() {
  local count
  count=$(wc -l <"$work/names")
  [[ $count -gt 0 ]] || fail "$1: no names"
  tests/demangle/demangle_lines <"$work/names" >"$work/ours"
  llvm-cxxfilt-19 <"$work/names" >"$work/theirs"
  diff "$work/ours" "$work/theirs" >"$work/difference" || fail "$1: $(head -n 6 "$work/difference")"
  ! grep -qE '^_(R|Z)' "$work/ours" || fail "$1: left mangled: $(grep -m 1 -E '^_(R|Z)' "$work/ours")"
  echo "$1: $count names"
}

cp "$top/tests/demangle/rust_v0.txt" "$work/names"
compare "Rust v0"

if have rustc && rustc --edition 2021 -C symbol-mangling-version=v0 -C opt-level=0 -o "$work/program" \
  "$top/tests/demangle/rust_names.rs" 2>"$work/log"; then
  nm "$work/program" | awk '{ print $NF }' | grep '^_R' | sort -u >"$work/names"
  compare "Rust v0 by $(rustc --version)"
fi

# LLVM's demangler is preferred to another one, but a library that has none is passed over.
# library_with FUNCTION...: makes a library libc++abi.so.1, which is found first.
library_with() {
  mkdir -p "$work/abi"
  printf '#include <stdlib.h>\n#include <string.h>\n%s\n' "$*" >"$work/abi.c"
  ${CC:-cc} -shared -fPIC -o "$work/abi/libc++abi.so.1" "$work/abi.c"
}
# demangle_with: demangles with that library.
demangle_with() { LD_LIBRARY_PATH=$work/abi${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} tests/demangle/demangle_lines "$@"; }
library=$(${CC:-cc} -print-file-name=libstdc++.so.6)
if [[ -z ${USP_TEST_UNDER-} && -f $library ]] && ! ldd tests/demangle/.libs/demangle_lines 2>/dev/null | grep -c 'lib[a-z]*san\.' >/dev/null; then
  library_with 'char *__cxa_demangle(const char *name, char *buffer, size_t *size, int *status) {
    (void)buffer, (void)size, *status = 0;
    return strdup(strcmp(name, "_Z1fv.cold") == 0 ? "f() (.cold)" : "of LLVM");
  }'
  [[ $(echo _Z1fv | demangle_with) == 'of LLVM' ]] || fail "libc++abi is not preferred: $(echo _Z1fv | demangle_with)"
  [[ $(echo _ZN1a1b17h0123456789abcdefE.llvm.1 | demangle_with) == 'of LLVM (.llvm.1)' ]] || fail "a copy's suffix"
  library_with 'int nothing;'
  [[ $(echo _Z1fv | demangle_with) == 'f()' ]] || fail "libstdc++ is not used: $(echo _Z1fv | demangle_with)"
fi

# Another demangler than LLVM's writes some C++ constructs differently: doc/symbolize.md lists them. Everything else must
# be equal. The last library is LLVM's own, with 45,000 names, of which some are taken.
if [[ -f $library ]]; then
  llvm=$(ldd "$(command -v llvm-cxxfilt-19)" | awk '$1 ~ /^libLLVM/ { print $3 }')
  {
    nm -D --defined-only "$library"
    [[ ! -f $llvm ]] || nm -D --defined-only "$llvm" | awk 'NR % 5 == 0'
  } | awk '{ print $NF }' | sed 's/@.*//' | grep '^_Z' | sort -u >"$work/names"
  llvm-cxxfilt-19 <"$work/names" >"$work/theirs"
  if [[ $(echo _Z1fv.cold | tests/demangle/demangle_lines) == 'f() (.cold)' ]]; then
    tests/demangle/demangle_lines <"$work/names" >"$work/ours"
    different=$(paste "$work/ours" "$work/theirs" | awk -F '\t' '$1 != $2' | wc -l)
    [[ $((different * 1000)) -le $(wc -l <"$work/names") ]] || fail "libc++abi: $different names differ"
    echo "C++ by libc++abi: $(wc -l <"$work/names") names, $different differ"
  fi
  # By GNU's demangler: libc++abi is hidden.
  library_with 'int nothing;'
  demangle_with <"$work/names" | sed -E 's/ \[clone ([^]]*)\]/ (\1)/g' >"$work/ours"
  paste "$work/names" "$work/ours" "$work/theirs" | awk -F '\t' '
    $1 ~ /^_ZGTt/ || $1 == $3 { next }
    # Left mangled: parameters and constraints of C++20, types of extensions, packs of GCC 4.4.
    $1 == $2 && $1 ~ /T[nyk]|u20__|I[^ ]*II|DF16_|fL0p/ { next }
    {
      ours = $2; theirs = $3
      sub(/^TLS init function/, "thread-local initialization routine", ours)
      sub(/^TLS wrapper function/, "thread-local wrapper routine", ours)
      gsub(/decltype\(nullptr\)/, "std::nullptr_t", ours)
      # Lambdas and unnamed types: their numbers and parameters are written differently.
      if (theirs ~ /\047(lambda|unnamed)/ && ours ~ /\{(lambda|unnamed type)/) next
      gsub(/[ ()]/, "", ours); gsub(/[ ()]/, "", theirs)
      # The return type of a function that holds a local name.
      if ($1 ~ /^_ZZ/ && substr(theirs, length(theirs) - length(ours) + 1) == ours) next
      if (ours != theirs) print
    }' >"$work/difference"
  [[ ! -s $work/difference ]] || fail "C++: $(wc -l <"$work/difference") names differ: $(head -n 2 "$work/difference")"
  # The last component of each name, without brackets, must be in the shortened name.
  demangle_with simple <"$work/names" >"$work/simple"
  grep -nE '[(][^a)]|^$' "$work/simple" | grep -vE 'operator|anonymous|[{]lambda' | head -n 3 >"$work/bad" || :
  [[ ! -s $work/bad ]] || fail "C++, simple: $(cat "$work/bad")"
  echo "C++: $(wc -l <"$work/names") names"
fi
verdict
