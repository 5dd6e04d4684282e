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

# The host's demangler writes some C++ constructs differently from llvm-cxxfilt: doc/symbolize.md lists them. Everything
# else must be equal.
library=$(${CC:-cc} -print-file-name=libstdc++.so.6)
if [[ -f $library ]]; then
  nm -D --defined-only "$library" | awk '{ print $NF }' | sed 's/@.*//' | grep '^_Z' | sort -u >"$work/names"
  tests/demangle/demangle_lines <"$work/names" >"$work/ours"
  llvm-cxxfilt-19 <"$work/names" >"$work/theirs"
  paste "$work/names" "$work/ours" "$work/theirs" | awk -F '\t' '
    $1 ~ /^_ZGTt/ { next }
    {
      ours = $2; theirs = $3
      sub(/^TLS init function/, "thread-local initialization routine", ours)
      sub(/^TLS wrapper function/, "thread-local wrapper routine", ours)
      gsub(/decltype\(nullptr\)/, "std::nullptr_t", ours)
      gsub(/[ ()]/, "", ours); gsub(/[ ()]/, "", theirs)
      if (ours != theirs) print
    }' >"$work/difference"
  [[ ! -s $work/difference ]] || fail "C++: $(head -n 2 "$work/difference")"
  # The last component of each name, without brackets, must be in the shortened name.
  tests/demangle/demangle_lines simple <"$work/names" >"$work/simple"
  grep -nE '[(][^a)]|^$' "$work/simple" | grep -vE 'operator|anonymous' | head -n 3 >"$work/bad" || :
  [[ ! -s $work/bad ]] || fail "C++, simple: $(cat "$work/bad")"
  echo "C++: $(wc -l <"$work/names") names"
fi
verdict
