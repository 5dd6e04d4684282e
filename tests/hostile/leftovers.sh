#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests that a command that a signal ends leaves no file behind: no unpacked archive in TMPDIR, and nothing beside a log
# that it replaces. A file that a former run has left is never taken for a log.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/../tool/common.sh"
cd "$work"
export TMPDIR=$work/temporary HOME=$work/home
mkdir "$TMPDIR"

# ended_by SIGNAL COMMAND...: checks that the command, which is the last background process, was ended by the signal.
ended_by() {
  local signal=$1 status=0
  wait "$pid" || status=$?
  running=()
  [[ $status -eq $((128 + $(kill -l "$signal"))) ]] || fail "SIG$signal, ${*:2}: exit status $status"
}

# ---- a log that is replaced, while a file is being fetched for it
report='0   App   0x0000000100004a10 0x100000000 + 18960

Binary Images:
0x100000000 - 0x10000ffff App arm64 <0123456789abcdef0123456789abcdef> /opt/App'
cat >"$work/fetch.sh" <<'END'
echo >"$1/fetching"
exec sleep 1000
END
# shellcheck disable=SC2317,SC2329 # called by wait_until
fetches_or_has_ended() { [[ -e fetching ]] || ! kill -0 "$pid" 2>/dev/null; }
# interrupted SIGNAL STATE COMMAND...: starts to replace a log, sends the signal, and checks what is left.
interrupted() {
  local signal=$1 state=$2
  shift 2
  rm -rf logs fetching
  mkdir logs
  echo "$report" >logs/log
  "$@" "$unspool" symbolize --quiet --in-place --log logs --fetch "sh $work/fetch.sh $work {uuid} {dest}" 2>err &
  pid=$!
  running+=("$pid")
  wait_until fetches_or_has_ended || :
  [[ -e fetching ]] || fail "nothing was fetched: $(cat err)"
  kill "-$signal" "$pid"
  ended_by "$signal" "$state"
  [[ $(ls -A logs) == log ]] || fail "SIG$signal, $state: left beside a log: $(ls -A logs)"
  [[ $(cat logs/log) == "$report" ]] || fail "SIG$signal, $state: the log was changed"
  [[ -z $(find "$XDG_CACHE_HOME" -name 'fetch.*') || $signal == KILL ]] || fail "SIG$signal: left in the cache"
}
for signal in INT TERM HUP; do
  # In the background, a shell that is not a terminal's ignores SIGINT.
  interrupted "$signal" "without a name" env --default-signal=INT
done
# Where files without names are not possible, because /proc is missing.
no_proc=(unshare --mount -- sh -c 'mount -t tmpfs none /proc && exec "$@"' sh)
if "${no_proc[@]}" true 2>/dev/null; then
  interrupted TERM "with a name" "${no_proc[@]}"
  interrupted HUP "with a name" "${no_proc[@]}"
  # The same without an interruption.
  mkdir -p "$work/files"
  cp "$stuck" "$work/files"
  "${no_proc[@]}" "$unspool" symbolize --quiet --in-place --log logs --search "$work/files" || fail "without /proc"
  [[ $(ls -A logs) == log ]] || fail "without /proc: left beside a log: $(ls -A logs)"
else
  echo "left out: a system without /proc, because this user cannot mount"
fi

# ---- what a former run has left
echo "$report" >logs/log.unspool-a1B2c3
mkdir -p files
cp "$stuck" files
run 0 symbolize --search files --log logs
[[ $(cat out) == "$report" ]] || fail "a temporary file is read as a log: $(cat out)"
run 3 symbolize --search files --log logs/log.unspool-a1B2c3
err_has '^unspool: logs/log\.unspool-a1B2c3: is a temporary file that unspool has left$'
run 0 symbolize --quiet --search files --output copies --log logs
[[ $(ls -A copies) == log ]] || fail "a temporary file is copied: $(ls -A copies)"
# A name that is only similar.
mv logs/log.unspool-a1B2c3 logs/log.unspool-a1B2c34
run 0 symbolize --quiet --search files --output copies --log logs
[[ -e copies/log.unspool-a1B2c34 ]] || fail "a log is taken for a temporary file"

# ---- an archive that is being unpacked
have python3 || verdict
python3 - <<'END'
import random, zipfile
source = random.Random(37)
with zipfile.ZipFile('large.zip', 'w', zipfile.ZIP_STORED) as out:
    block = source.randbytes(1 << 20)
    for i in range(32):
        out.writestr('folder/lib%d' % i, b'\x7fELF' + block)
END
if ! "$unspool" store add --quiet -o none large.zip 2>err && grep -q 'without libarchive\|not installed' err; then
  verdict
fi
# state_of PROCESS: prints the letter of its state; nothing if there is none.
state_of() { sed 's/.*) \(.\) .*/\1/' "/proc/$1/stat" 2>/dev/null || :; }
for signal in TERM HUP; do
  is_unpacking=false
  for _ in {1..100}; do
    "$unspool" store add --quiet -o store large.zip >out 2>err &
    pid=$!
    running+=("$pid")
    while kill -0 "$pid" 2>/dev/null && [[ -z $(ls -A "$TMPDIR") ]]; do :; done
    # The process stands still while it unpacks, so the signal comes in time.
    kill -STOP "$pid" 2>/dev/null || continue
    while [[ $(state_of "$pid") == [RSD] ]]; do :; done
    if [[ $(state_of "$pid") == T && -n $(ls -A "$TMPDIR") ]]; then is_unpacking=true; fi
    kill "-$signal" "$pid" 2>/dev/null || :
    kill -CONT "$pid" 2>/dev/null || :
    if $is_unpacking; then break; fi
    wait "$pid" 2>/dev/null || :
    running=()
  done
  $is_unpacking || skip "the archive is always unpacked at once"
  ended_by "$signal" "unpacking"
  [[ -z $(ls -A "$TMPDIR") ]] || fail "SIG$signal: left in TMPDIR: $(ls -A "$TMPDIR")"
done
verdict
