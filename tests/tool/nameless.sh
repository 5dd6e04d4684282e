#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests code that has a line and no function, such as padding and what is written in assembly language: logs, .ips
# reports and records get its file and line, once, and a later run with more symbols still adds the name. Runs in the
# folder of the build.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/common.sh"
need_tools gcc readelf nm objcopy python3
export HOME=$work XDG_CACHE_HOME='' UNSPOOL_INDEX_STORE=''
cd "$work"

# The line of `hidden` is known, and its name only with a symbol: assemblers describe functions, but no labels.
cat >bare.s <<'END'
	.text
	.globl known
	.type known,%function
known:
	.file 1 "bare.s"
	.loc 1 10
	nop
	nop
	.size known, .-known
hidden:
	.loc 1 20
	nop
	nop
	.size hidden, .-hidden
	.section .note.GNU-stack,"",%progbits
END
mkdir whole bare
gcc -g -shared -nostdlib -Wl,--build-id=sha1 -o whole/bare bare.s
objcopy --strip-symbol=hidden whole/bare bare/bare
id=$(readelf -n whole/bare | sed -n 's/.*Build ID: //p')
load=$((0x555500000000))
known=$((16#$(nm whole/bare | awk '$3 == "known" { print $1 }') + 1))
hidden=$((16#$(nm whole/bare | awk '$3 == "hidden" { print $1 }') + 1))
hex() { printf '0x%016x' $((load + $1)); }
"$unspool" symbolize -o bare/bare "$hidden" >out 2>err
out_has '^\?\?\? \(in bare\) \(bare\.s:20\)$'

# Code of a function for which the line table has line 0: an address gets the line of the code before it, as a return
# address in a log does.
cat >row.s <<'END'
	.text
	.globl known
	.type known,%function
known:
	.file 1 "row.s"
	.loc 1 10
	nop
	nop
	.loc 1 0
	nop
	nop
	.size known, .-known
	.section .note.GNU-stack,"",%progbits
END
gcc -g -shared -nostdlib -Wl,--build-id=sha1 -o row row.s
row=$((16#$(nm row | awk '$3 == "known" { print $1 }') + 3))
"$unspool" symbolize -o row "$row" >out 2>err
out_has '^known \(in row\) \(row\.s:10\)$'
printf '1   row   0x%x 0x555500000000 + %d\n' $((load + row)) "$row" | "$unspool" symbolize --log - --search . >out 2>err
out_has ' known \+ 3 \(row\.s:10\)$'

cat >text.in <<END
0   bare                          	$(hex "$hidden") $(printf 0x%x "$load") + $hidden
1   bare                                $(hex "$hidden") bare + $hidden
2   bare                          	$(hex "$known") $(printf 0x%x "$load") + $known
bare + $hidden
3   $id + $(printf 0x%x "$hidden") /opt/bare

Binary Images:
$(printf '0x%x - 0x%x' "$load" $((load + 0xffff))) bare <$id> /opt/bare
END
sed -E "s/ \\+ $hidden\$/& (bare.s:20)/; s/^bare .*/bare + $hidden/; s/^(2 .*) 0x[0-9a-f]* \\+ .*/\\1 known + 1 (bare.s:10)/" text.in >text.named
sed -E "s/^([01] .*) (0x[0-9a-f]*|bare) \\+ $hidden\$/\\1 hidden + 1 (bare.s:20)/; s/^bare .*/hidden + 1 (bare.s:20)/; s,^3 .* /,3   hidden + 1 (bare.s:20) /,; s/^(2 .*) 0x[0-9a-f]* \\+ .*/\\1 known + 1 (bare.s:10)/" \
  text.in >text.whole
python3 - "$id" "$load" "$known" "$hidden" <<'END'
import json, sys
build, load, known, hidden = sys.argv[1], *map(int, sys.argv[2:])
uuid = '-'.join((build[:8], build[8:12], build[12:16], build[16:20], build[20:32]))
def frames(members, named=False, whole=False):
    for offset in (hidden, known):
        frame = dict(members(offset))
        if whole or (named and offset == known):
            frame.update(symbol='known' if offset == known else 'hidden')
            yield frame, 10 if offset == known else 20, 1
        else:
            yield frame, 20 if named else 0, None
def record(named=False, whole=False):
    out = []
    for frame, line, offset in frames(lambda o: {'image': 'bare', 'build_id': build, 'offset': o}, named, whole):
        if offset: frame['symbol_offset'] = offset
        if line: frame.update(source_file=True, source_line=line)
        out.append(frame)
    return out
json.dump({'frames': record()}, open('record.in', 'w'))
json.dump([record(True), record(True, True)], open('record.expected', 'w'))
END

# by HOW FILE OPTION...: symbolicates a log, and compares.
by() {
  local what=$1 log=$2 expected=$3
  shift 3
  run 0 symbolize --log "$log" "$@"
  cmp -s out "$expected" || fail "$what: $(diff "$expected" out)"
}
by 'a log' text.in text.named --search bare
! grep 'lines need' err || fail "there are lines: $(cat err)"
by 'a log for the second time' text.named text.named --search bare
by 'a log with all symbols' text.in text.whole --search whole
by 'a log with all symbols, later' text.named text.whole --search whole
run 0 index --quiet -o store bare/bare
by 'a log by its index' text.in text.named --index store

# Records, and a report in JSON with the members of its own format.
run_records() { "$unspool" symbolize --records --search "$1" <"$2" >out 2>err || fail "--records: exit status $?"; }
run_records bare record.in
cp out record.named
run_records whole record.named
cp out record.whole
run_records bare record.named
python3 - <<'END' || fail "records: $(cat record.named record.whole out)"
import json
expected, later = json.load(open('record.expected'))
def plain(path):
    frames = json.load(open(path))['frames']
    for frame in frames:
        if 'source_file' in frame:
            frame['source_file'] = frame['source_file'].endswith('/bare.s')
    return frames
assert plain('record.named') == expected, plain('record.named')
assert plain('out') == expected
assert plain('record.whole') == later, plain('record.whole')
assert open('record.whole').read().count('source_file') == 2
END
cat >report.ips <<END
{"app_name": "bare", "bug_type": "309"}
{"bug_type": "309", "usedImages": [{"uuid": "$id", "base": $load, "size": 65536, "name": "bare", "path": "/opt/bare"}],
 "threads": [{"triggered": true, "frames": [{"imageIndex": 0, "imageOffset": $hidden}, {"imageIndex": 0, "imageOffset": $known}]}]}
END
run 0 symbolize --log report.ips --search bare
out_has "\"imageOffset\": $hidden, \"sourceFile\": \"bare.s\", \"sourceLine\": 20}"
cp out named.ips
run 0 symbolize --log named.ips --search bare
cmp -s out named.ips || fail "a report for the second time: $(diff named.ips out)"

# Last, because validators may be missing.
cd "$started_in"
# shellcheck disable=SC2034 # used by validate
open_keys=('' frames)
validate record "$work/record.in"
validate record-answer "$work/record.named" "$work/record.whole"
verdict
