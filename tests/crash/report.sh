#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests `unspool report` with the crash kit's reports as they are (raw captures): it says what `unspool stack` says of the
# file (cause, notes, locks, threads, frames), in the layout of all reports, from a file, a pipe and a folder. Torn and
# damaged reports do no harm.
set -euo pipefail
# shellcheck source=tests/crash/common.sh
. "$(dirname "$0")/common.sh"
for way in segv workers noted thrown assert deaf deadlock; do
  crash "$way"
  run $status stack --json "$raw"
  cp out it.json
  run 0 report --quiet "$raw"
  cp out shown
  out_has '^Exception Type: +SIG(SEGV|ABRT)$'
  out_has '^Thread 0 Crashed:$'
  out_has '^Thread 0 crashed with '
  out_has '^0x[0-9a-f]+ - 0x[0-9a-f]+ crasher .*<[0-9a-f]{40}> '
  python3 - <<'END' || fail "$way: report lacks what stack says: $(cat shown)"
import json
import re
import sys

stacks = json.load(open('it.json', encoding='utf-8'))
shown = open('shown', encoding='utf-8').read()
lines = shown.split('\n')
wanted = [f"Exception Reason:    {stacks['process']['crash']}"]
for note in stacks.get('notes', []):
    wanted.append(f"{note['key']}: {note['text']}" if 'key' in note else note['text'])
for i, thread in enumerate(stacks['threads']):
    if 'waits_for_lock' in thread:
        lock = thread['waits_for_lock']
        wanted.append(f"Thread {i} waits for a {lock['kind']} that thread "
                      f"{[t['id'] for t in stacks['threads']].index(lock['held_by'])} \"{lock['held_by_name']}\" holds: "
                      f"a deadlock of {lock['deadlock']} threads")
# What the program and others have said is indented.
said = [line.removeprefix('  ') for line in lines]
for text in wanted:
    if text not in said:
        sys.exit(f'{text!r} is missing')
frames = [re.sub(r' \[inlined\]| \(.*\)$', '', line.split('\t')[1].split(' ', 1)[1]) for line in lines
          if re.match(r'\d+ .*\t0x', line)]
known = []
for stack in [stacks.get('exception', {})] + stacks['threads']:
    for frame in stack.get('frames', []):
        known += [call['symbol'] for call in frame.get('inlined', [])]
        if 'symbol' in frame:
            known.append(f"{frame['symbol']} + {frame['symbol_offset']}")
if frames != known:
    sys.exit(f'frames {frames} instead of {known}')
END
  run $status stack --style ips "$raw"
  cp out it.ips
  run 0 report --quiet it.ips
  cmp -s shown out || fail "$way: the .ips that is made of it is shown otherwise: $(diff shown out)"
  # The .crash that is made of it has all notes, too, each in a line.
  run $status stack --style crash-report "$raw"
  cp out it.crash
  run 0 report --quiet it.crash
  sed -n '/^Application Specific/,/^$/p' shown | sort >notes
  sed -n '/^Application Specific/,/^$/p' out | sort | diff notes - || fail "$way: the .crash has other notes"
done
# From a pipe, from standard input, in a folder, as JSON and as a page.
run 0 report --quiet "$raw"
cp out shown
"$unspool" report --quiet - <"$raw" >out || fail "standard input"
cmp -s shown out || fail "standard input: $(diff shown out)"
tail -c +1 "$raw" | "$unspool" report --quiet - >out || fail "a pipe"
cmp -s shown out || fail "a pipe: $(diff shown out)"
rm -f reports/*.run
run 0 report --quiet reports
cmp -s shown out || fail "a folder: $(diff shown out)"
run 0 report --quiet --json "$raw"
out_has '"exception_type": *"SIGABRT"'
run 0 report --quiet --html "$raw"
out_has '<h1>crasher'
run 0 report --quiet --thread crashed "$raw"
out_has '^Thread 0 Crashed:$'
out_lacks '^Thread 1:$'
run 0 report --quiet --diff "$raw" "$raw"
out_lacks '^[-+] '
# A torn report: what is there is shown, and a message names the file.
head -c $(($(stat -c %s "$raw") - 100)) "$raw" >torn.raw
run 0 report --quiet torn.raw
out_has '^Exception Type: +SIGABRT$'
err_has '^unspool: torn\.raw: the capture is cut off or damaged at offset 0x[0-9a-f]+$'
# Damaged ones: each changed byte, in steps, ends the command in an orderly way.
python3 - "$raw" <<'END'
import sys

raw = open(sys.argv[1], 'rb').read()
for i in range(40):
    at = 8 + i * (len(raw) - 8) // 40
    open(f'damaged{i}.raw', 'wb').write(raw[:at] + bytes([raw[at] ^ 0xff]) + raw[at + 1:])
END
for file in damaged*.raw; do
  status=0
  "$unspool" report --quiet "$file" >out 2>err || status=$?
  [[ $status -eq 0 || $status -eq 3 ]] || fail "$file: exit status $status: $(cat err)"
  [[ -s err ]] || fail "$file: no message"
done
head -c 8 "$raw" >short.raw
run 3 report short.raw
err_has '^unspool: short\.raw: '
verdict
