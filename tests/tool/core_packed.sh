#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests compressed cores and raw captures, and those from a pipe: the report is that of the file itself, the temporary
# file has no name and holes for zeros, limits hold, and without libarchive the message has the command that unpacks.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/common.sh"
have gdb || skip "gdb is missing"
cd "$work"
export TMPDIR=$work/temporary
mkdir "$TMPDIR"
read -ra compiler <<<"${CC:-cc}"
"${compiler[@]}" -O1 -g -I"$top" -o crashes "$top/tests/tool/crashes.c" -lpthread || skip "no compiler"
gdb -nx -batch -readnever -ex run -ex "gcore core" -ex kill --args ./crashes null >gdb.out 2>&1 </dev/null || :
[[ -s core ]] || fail "gdb writes no core: $(cat gdb.out)"
run 0 stack core
cp out expected

# same WHAT: checks that the report is the one of the core itself, and that nothing is left in TMPDIR.
same() {
  diff <(sed 1d expected) <(sed 1d out) >difference || fail "$1: another report: $(cat difference)"
  [[ -z $(ls -A "$TMPDIR") ]] || fail "$1: left in TMPDIR: $(ls -A "$TMPDIR")"
}

# ---- pipes that are not compressed
run 0 stack --core - < <(cat core)
same "a pipe"
run 0 stack - <core
same "standard input, a file"
run 0 stack /dev/stdin < <(cat core)
same "/dev/stdin"
mkfifo fifo
cat core >fifo &
run 0 stack fifo
same "a fifo"
run 0 images - < <(cat core)
out_has "$work/crashes\$"
run 3 stack - </dev/null
err_has '^unspool: standard input: not a file or a pipe$'
run 3 stack - < <(echo text)
err_has '^unspool: standard input: .*neither an ELF nor a Mach-O core file'
run 2 stack --core core core

# ---- without libarchive: a file of its name that is none
mkdir without
touch without/libarchive.so.13
status=0
gzip -c core >core.gz
LD_LIBRARY_PATH=$work/without${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} "$unspool" stack core.gz >out 2>err || status=$?
[[ $status -eq 3 ]] || fail "without libarchive: exit status $status"
err_has '^unspool: core.gz: compressed; unpack it first: gzip -dc core.gz > core, and give that file$'
status=0
LD_LIBRARY_PATH=$work/without${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} "$unspool" stack - <core.gz >out 2>err || status=$?
[[ $status -eq 3 ]] || fail "without libarchive, a pipe: exit status $status"
err_has '^unspool: standard input: compressed; unpack it first: gzip -dc'
status=0
"$unspool" stack core.gz >out 2>err || status=$?
if grep -q 'unpack it first' err; then
  for tool in zstd xz lz4 gzip; do
    part_needs $tool || continue
    $tool -c core >packed 2>/dev/null
    run 3 stack packed
    err_has "^unspool: packed: compressed; unpack it first: $tool -dc packed > core, and give that file\$"
  done
  verdict
fi

# ---- compressed
for tool in zstd xz lz4 gzip; do
  part_needs $tool || continue
  $tool -1 -c core >packed 2>/dev/null
  run 0 stack packed
  same "$tool"
  run 0 stack --core - < <(cat packed)
  same "$tool, a pipe"
  run 0 images packed
  out_has "$work/crashes\$"
  # Cut off: what precedes that is used.
  head -c $(($(wc -c <packed) / 2)) packed >half
  status=0
  "$unspool" stack half >out 2>err || status=$?
  [[ $status -le 1 || $status -eq 3 ]] || fail "$tool, half: exit status $status"
  grep -qE '^unspool: half: ' err || fail "$tool, half: no message: $(cat err)"
done
head -c 20 core.gz >short
run 3 stack short
err_has '^unspool: short: '

# ---- zeros take no space: 256 MB of them after the core, with room for 16 MB
if [[ $(id -u) -eq 0 ]] && unshare --mount true 2>/dev/null && command -v zstd >/dev/null; then
  { cat core && head -c 256M /dev/zero; } | zstd -q -1 -c >zeros.zst
  head -c 20M /dev/urandom | cat core - | zstd -q -1 -c >random.zst
  # shellcheck disable=SC2016 # expanded in the inner shell
  unshare --mount sh -c 'mount -t tmpfs -o size=16m none "$TMPDIR" && "$@"' sh "$unspool" stack zeros.zst >out 2>err ||
    fail "zeros: $(cat err)"
  same zeros
  # shellcheck disable=SC2016
  ! unshare --mount sh -c 'mount -t tmpfs -o size=16m none "$TMPDIR" && "$@"' sh "$unspool" stack random.zst >out 2>err ||
    fail "no space: status 0"
  err_has "^unspool: random.zst: too little space in $TMPDIR; set TMPDIR to a folder with more\$"
fi

# ---- a signal while the input is being read leaves nothing behind
mkfifo slow
# shellcheck disable=SC2317,SC2329 # called by wait_until
unpacks_or_has_ended() {
  find "/proc/$pid/fd" -lname "$TMPDIR/*(deleted)" 2>/dev/null | grep . >/dev/null || ! kill -0 "$pid" 2>/dev/null
}
for signal in INT TERM HUP KILL; do
  env --default-signal=INT "$unspool" stack slow >out 2>err &
  pid=$!
  running+=("$pid")
  exec 9>slow
  head -c 100000 core >&9
  wait_until unpacks_or_has_ended || fail "the input is not read"
  [[ -z $(ls -A "$TMPDIR") ]] || fail "the temporary file has a name"
  kill "-$signal" "$pid"
  status=0
  wait "$pid" || status=$?
  running=()
  exec 9>&-
  [[ $status -eq $((128 + $(kill -l "$signal"))) ]] || fail "SIG$signal: exit status $status"
  [[ -z $(ls -A "$TMPDIR") ]] || fail "SIG$signal: left in TMPDIR: $(ls -A "$TMPDIR")"
done
verdict
