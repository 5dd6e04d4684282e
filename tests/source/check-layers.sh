#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Checks the layers of doc/design.md, from the object files of this build or of the given folder. No file uses a later
# layer, no two folders need each other, no files of one folder form a circle, no header declares functions of another
# layer.
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
read -ra nm <<<"${NM:-nm}"
make_work
cd "${1:-.}"

# Leaves out objects of test programs, which compile some files again. A build of the library alone has no folder tools.
folders=(arch lib)
[[ ! -d tools ]] || folders+=(tools)
find "${folders[@]}" -name '*.o' -not -name 'tests_*' -not -path '*/.libs/*' | sort >"$work/objects"
find arch lib -name '*.o' -not -name 'tests_*' -path '*/.libs/*' | sort >>"$work/objects"
[[ $(wc -l <"$work/objects") -gt 100 ]] || fail "no objects to look at"
tr '\n' '\0' <"$work/objects" | xargs -0 "${nm[@]}" -A -g >"$work/symbols" 2>/dev/null || :
[[ $(wc -l <"$work/symbols") -gt 5000 ]] || fail "the objects have no symbols that ${nm[0]} can read"
mapfile -t headers < <(code arch lib | grep '\.h$')
perl "$top/tests/source/layers.pl" "$top" "${headers[@]}" <"$work/symbols" >"$work/found" || fail "layers.pl"
while read -r line; do fail "$line"; done <"$work/found"
echo "$(wc -l <"$work/objects") objects"
verdict
