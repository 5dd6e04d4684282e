#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Checks that `go tool pprof` reads the library's profiles: its totals, its callers and callees, and a profile that it
# writes again.
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
need_tools go python3
make_work
export PPROF_TMPDIR=$work HOME=$work
profile=$work/profile.pb.gz
tests/profile/profile_writer pprof >"$profile"
gzip -t "$profile" || fail "gzip does not read it"

pprof() { go tool pprof -symbolize=none "$@" >"$work/out" 2>"$work/err" || fail "go tool pprof $*: $(cat "$work/err")"; }
out_has() { grep -qE -- "$1" "$work/out" || fail "pprof's output lacks: $1" "$(cat "$work/out")"; }

pprof -top "$profile"
out_has '^Type: samples'
out_has 'Duration: 2s, Total samples = 86'
out_has '^ +81 +94\.19% +94\.19% +81 +94\.19% +take$'
out_has '^ +0 +0% +100% +60 +69\.77% +check_out$'
out_has '^ +0 +0% +100% +31 +36\.05% +ship_order$'
# A recursive function counts once.
out_has '^ +0 +0% +100% +10 +11\.63% +fall$'
out_has '^2 ticks and captures were put off'
pprof -sample_index=wall -top "$profile"
out_has ' 800ms +[0-9.]+% +check_out$'
pprof -sample_index=cpu -peek 'shop::Cart::price' "$profile"
out_has '400ms +100% \| +check_out$'
pprof -tagfocus='thread=main' -top "$profile"
out_has '^ +64 .* take$'
pprof -tags "$profile"
out_has '^ *thread: Total 86'
pprof -raw "$profile"
out_has '^ +40 +400000000 +400000000: [0-9 ]+$'
out_has 'profile_writer [0-9a-f]+ \[FN\]$'
# In a profile without names, pprof finds them by the mapping of the code.
tests/profile/profile_writer pprof bare >"$work/bare.gz"
go tool pprof -top "$work/bare.gz" >"$work/out" 2>"$work/err" || fail "bare: $(cat "$work/err")"
out_has ' take$'
# A profile that pprof reads and writes again has the same contents.
pprof -proto -output="$work/again.gz" "$profile"
PYTHONPATH=$top/tests/profile PYTHONDONTWRITEBYTECODE=1 python3 - "$profile" "$work/again.gz" <<'END' || fail "pprof changes the profile"
import sys, readers
first, again = (readers.read_pprof(open(path, "rb").read(), 1) for path in sys.argv[1:])
assert first and first == again, (first - again, again - first)
END
verdict
