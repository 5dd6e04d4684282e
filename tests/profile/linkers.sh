#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Checks profiles of programs of several linkers, which place code in the file in different ways: in pprof and OTLP the
# mapping of a program is the one that the kernel has of its code, with the offset in the file. So other tools find names
# by it.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/../tool/common.sh"
need_tools python3
[[ $(uname) == Linux ]] || skip 'reads /proc'
export PYTHONPATH=$top/tests/profile PYTHONDONTWRITEBYTECODE=1
read -ra compiler <<<"${CC:-cc}"
cat >"$work/spin.c" <<'END'
#include <stdio.h>
#include <time.h>
static volatile unsigned long sum;
/* Data before the code, so that a linker that places it in a segment of its own moves the code. */
const char table[20000] = {1};
__attribute__((noinline)) void spin(void) {
    for (unsigned i = 0; i < 1000000; i++) sum += (unsigned long)table[i % sizeof table];
}
int main(void) {
    const time_t end = time(NULL) + 300;
    puts("ready");
    fflush(stdout);
    while (time(NULL) < end) spin();
    return 0;
}
END
for linker in default lld mold; do
  option=()
  if [[ $linker != default ]]; then
    part_needs "ld.$linker" || continue
    option=("-fuse-ld=$linker")
  fi
  "${compiler[@]}" -O1 -g "${option[@]}" -Wl,--build-id=sha1 -o "$work/by-$linker" "$work/spin.c" 2>"$work/err" ||
    fail "$linker: does not link: $(<"$work/err")"
  start "$work/by-$linker"
  for format in pprof otlp; do
    record_until . "$work/$linker.$format" --quiet --no-symbols --format $format -o "$work/$linker.$format" "$pid"
  done
  mapped=$(sed -nE "s,^([0-9a-f]+)-([0-9a-f]+) r-xp ([0-9a-f]+) .* $work/by-$linker\$,\\1 \\2 \\3,p" "/proc/$pid/maps")
  stop
  # shellcheck disable=SC2086 # three words
  python3 - "$work/$linker" "$work/by-$linker" $mapped <<'END' || fail "$linker: a mapping differs"
import gzip, sys
from protobuf import every, last

path, program = sys.argv[1:3]
mapped = [int(word, 16) for word in sys.argv[3:]]
packed = open(path + ".pprof", "rb").read()
pprof = gzip.decompress(packed)
tables = last(open(path + ".otlp", "rb").read(), 2)
for name, mappings, strings, first in ("pprof", every(pprof, 3), every(pprof, 6), 2), ("otlp", every(tables, 1), every(tables, 5), 1):
    found = [[last(one, first + i, 0) for i in range(3)] for one in mappings if strings[last(one, first + 3, 0)].decode() == program]
    assert found == [mapped], (name, [[hex(n) for n in one] for one in found], sys.argv[3:])
END
  names=$("$unspool" profile --quiet --format folded "$work/$linker.otlp")
  grep -q ';main;spin [0-9]*$' <<<"$names" || fail "$linker: no name" "$names"
done
verdict
