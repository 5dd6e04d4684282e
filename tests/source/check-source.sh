#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every file of ours: the licence line where sources have it, clean lines, no path of a machine, no notes to self.
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
need_clone
cd "$top"

licence='SPDX-License-Identifier: MIT'
# Written so that this file does not match itself.
machine='/wor[k]/|/far[m]/|(^|[[:space:]"=(:])/(home|roo[t])/|/tm[p]/(prompt|wt-|bash_jobs)'
notes='\b(TOD[O]|FIXM[E]|XX[X]|HAC[K])\b'

while read -r file; do
  case $file in
  *.c | *.h | *.m | *.S | *.sh | *.py | *.ac | *.am | *.m4 | *.inc | *.map | *.modulemap | *.swift | *.podspec | \
    .clang-format | tools/build-apple | tools/quickstart | tools/ci-lane | tests/apple/xcrun | .ci/run)
    head -n 3 "$file" | grep -qF "$licence" || fail "$file: the first lines lack $licence"
    ;;
  esac
  case $file in
  *.c | *.h | *.m)
    [[ $(head -n 1 "$file") == "/* $licence */" ]] || fail "$file: the first line is not /* $licence */"
    grep -nP '\t' "$file" | sed "s|^|$file:|" | head -n 3 | grep . && fail "$file: tabs"
    ;;
  esac
  grep -Iq . "$file" || continue # empty or binary
  # The output of other tools, kept as it came.
  [[ $file == COPYING ]] && continue
  grep -nE '[[:blank:]]+$' "$file" | head -n 3 && fail "$file: blanks at a line's end"
  grep -n $'\r' "$file" | head -n 3 && fail "$file: carriage returns"
  [[ -z $(tail -c 1 "$file") ]] || fail "$file: no newline at the end"
  grep -nE "$machine" "$file" | head -n 3 && fail "$file: a path of a machine"
  grep -nE "$notes" "$file" | head -n 3 && fail "$file: a note to oneself"
done < <(project_files)

# One list of lanes, and each of them is there.
lanes=$(tools/ci-lane --list | awk '{ print $1 }')
for lane in $lanes; do [[ -f tests/lanes/$lane.sh ]] || fail "tools/ci-lane names $lane, which tests/lanes/ lacks"; done
for file in $(project_files | grep -E '^tests/lanes/.*\.sh$'); do
  name=$(basename "$file" .sh)
  [[ $name == common ]] || grep -qx "$name" <<<"$lanes" || fail "$file is in no list of lanes"
done
verdict
