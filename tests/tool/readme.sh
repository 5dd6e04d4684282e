#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Compiles and runs the examples in C of README.md as they stand there. A program is a whole file; the others are put
# into a function of a program that has what the text around the example names.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/common.sh"
[[ -e lib/.libs/libunspool.so ]] || skip "the shared library was not built"
read -ra compiler <<<"${CC:-cc}"

# Each block is a file example.N.
awk -v to="$work/example." '/^```c$/ { inside = 1; count++; next } /^```/ { inside = 0 } inside { print >(to count) }' "$top/README.md"
examples=("$work"/example.?)
[[ ${#examples[@]} -eq 4 ]] || fail "README.md has ${#examples[@]} examples in C"

# whole NUMBER <SURROUNDINGS: writes the program of an example, which replaces the line EXAMPLE.
whole() {
  sed -e "/^EXAMPLE\$/ { r $work/example.$1" -e 'd; }' >"$work/example.$1.c"
  grep -qF "$(head -1 "$work/example.$1")" "$work/example.$1.c" || fail "example $1 is not in its program"
}
echo EXAMPLE | whole 1
whole 2 <<'END'
#include <stdio.h>
#include <unspool/unspool.h>

int main(void) {
EXAMPLE
    return 0;
}
END
whole 4 <<'END'
#include <stdio.h>
#include <unspool/unspool.h>

static void report(void *context, const struct usp_hang *hang) { (void)context, (void)hang; }

int main(void) {
EXAMPLE
    int status = usp_monitor_start(monitor);
    usp_monitor_free(monitor);
    printf("status %d\n", status);
    return status != USP_OK;
}
END

whole 3 <<'END'
#include <stdio.h>
#include <unspool/unspool.h>

int main(void) {
EXAMPLE
    printf("status %d\n", status);
    return status != USP_OK;
}
END

cd "$work"
for n in 1 2 3 4; do
  "${compiler[@]}" -std=c11 -Wall -Wextra -Werror -g -O0 -fno-omit-frame-pointer -I "$top/include" "$work/example.$n.c" \
    "$started_in/lib/.libs/libunspool.so" -o "$work/example_$n" || { fail "example $n does not compile" && continue; }
  "$work/example_$n" >"$work/says.$n" 2>"$work/errors.$n" || fail "example $n ends with status $?"
done
# The first writes to standard error, one stack and all stacks; the second to standard output, with a line for each
# function.
[[ $(grep -cE ' main \+ [0-9]+ \(example\.1\.c:[0-9]+\)$' "$work/errors.1") -eq 2 ]] || fail "example 1: $(cat "$work/errors.1")"
grep -qE '^example_2: main .*example\.2\.c:[0-9]+$' "$work/says.2" || fail "example 2: $(cat "$work/says.2")"
grep -qx 'status 0' "$work/says.3" || fail "example 3: $(cat "$work/says.3")"
grep -qx 'status 0' "$work/says.4" || fail "example 4: $(cat "$work/says.4")"
[[ $(ls crashes) == *.run ]] || fail "example 3 leaves: $(ls crashes)"
verdict
