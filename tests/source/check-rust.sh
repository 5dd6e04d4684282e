#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Compares bindings/rust/unspool-sys/src/declarations.rs with the public headers from which it is written, and the
# crates' version with that of the library.
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
need_tools perl
make_work
crates=$top/bindings/rust
write() { perl "$crates/declarations.pl" "$@"; }

write "$top"/include/unspool/*.h >"$work/declarations.rs"
diff -u "$crates/unspool-sys/src/declarations.rs" "$work/declarations.rs" ||
  fail "write it again: perl bindings/rust/declarations.pl include/unspool/*.h >bindings/rust/unspool-sys/src/declarations.rs"
public_functions >"$work/public"
grep -oE '^    pub fn usp_[a-z0-9_]+' "$work/declarations.rs" | awk '{ print $3 }' | sort >"$work/declared"
diff "$work/public" "$work/declared" || fail "functions that are declared (>) are not those of the headers (<)"

# What the program does not understand, it refuses: an unknown type, and an array as a parameter, which C passes as a
# pointer and Rust as its elements.
refused() {
  printf 'USP_BEGIN_DECLS\nUSP_API %s;\nUSP_END_DECLS\n' "$1" >"$work/made.h"
  if write "$work/made.h" >/dev/null 2>"$work/said"; then fail "'$1' is accepted"; fi
  grep -q "$2" "$work/said" || fail "$1: $(cat "$work/said")"
}
refused 'long double usp_made(void)' 'usp_made\|which type'
refused 'void usp_made(uint8_t id[16])' 'id is an array'

version=$(project_version)
[[ -n $version ]] || fail "configure.ac: no version found"
while read -r file line; do
  [[ $line == *"\"$version\""* ]] || fail "$file: the library's version is $version: $line"
done < <(cd "$crates" && grep -H '^version = "' ./*/Cargo.toml Cargo.lock | sed 's/:/ /')
verdict
