#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Measures the demangling of Swift names: those of the libraries that Swift programs use, one a line, in both styles.
# Compares tests/demangle/demangle_lines with the toolchain's swift-demangle. Prints processor time of whole processes
# that take turns, as medians. Run in the build folder.
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
# shellcheck source=tests/support/swift_toolchain.sh
. "$top/tests/support/swift_toolchain.sh"
rounds=7
goal=2 # in µs for each name
if ! find_swift; then
  echo "skipped: $no_swift"
  exit 0
fi
make_work
runtime_names >"$work/names"
count=$(wc -l <"$work/names")

# seconds COMMAND...: prints the processor time, including the kernel's. The shell's `time` counts thousandths.
seconds() {
  local TIMEFORMAT='%U %S'
  { time "$@" <"$work/names" >"$work/text" 2>/dev/null; } 2>&1 | awk '{ print $1 + $2 }'
}
median() { sort -g | awk '{ value[NR] = $1 } END { print value[int((NR + 1) / 2)] }'; }

echo "$count names of Swift's libraries, whole processes"
for style in full simple; do
  flag=()
  [[ $style == full ]] || flag=(--simplified)
  for ((round = 0; round < rounds; round++)); do
    echo "$(seconds tests/demangle/demangle_lines "$style") $(seconds "$swift_folder/swift-demangle" --compact "${flag[@]}")"
  done >"$work/$style"
  ours=$(awk '{ print $1 }' "$work/$style" | median)
  ratio=$(awk '{ print $2 / $1 }' "$work/$style" | median)
  awk -v style="$style" -v ours="$ours" -v ratio="$ratio" -v count="$count" -v goal="$goal" 'BEGIN {
    each = ours / count * 1e6
    fast = each <= goal ? "reached" : "MISSED"
    faster = (ratio > 1) ? "reached" : "MISSED"
    printf "%-7s %5.2f µs a name, goal %s: %s; swift-demangle takes %.2f times as long, goal more than 1: %s\n", style, each,
      goal, fast, ratio, faster }'
done
