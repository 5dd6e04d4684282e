#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests source lines and inlined calls in `unspool stack`: of a process, a core file and a raw capture, as text and as
# JSON; from debug information and from an index; and the messages if there is neither or the index is damaged. Without
# debug information the output is that of --no-lines.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/common.sh"
need_tools gcc strip objcopy
[[ -e lib/.libs/libunspool.so ]] || skip "the shared library was not built"
# Uses only the index stores made here.
export HOME=$work XDG_CACHE_HOME='' UNSPOOL_INDEX_STORE=''
source=$top/tests/tool/inlined.c
compile() {
  gcc -std=gnu11 -O2 "$@" -Wl,--build-id=sha1 -I "$top/include" "$source" lib/.libs/libunspool.so -Wl,-rpath,"$work"
}
compile -g -o "$work/inlined"
line_of() { grep -nF "/* $1 */" "$source" | cut -d: -f 1; }
innermost=$(line_of innermost) middle=$(line_of middle) outermost=$(line_of outermost) call=$(line_of call)
cd "$work"

# has_lines FOLDER: checks that each frame of `inlined` in the output has its line. FOLDER is a pattern for the path
# before the file.
has_lines() {
  grep -oE ' (spin|wait_for_it|work[.a-z0-9]*|main)( \[inlined\]| \+ [0-9]+) .*' out |
    sed -E "s/ work[.a-z0-9]* / work /; s/ \\+ [0-9]+ / + N /; s,\\($1inlined\\.c,(inlined.c," >found
  printf ' %s\n' "spin [inlined] (inlined.c:$innermost)" "wait_for_it [inlined] (inlined.c:$middle)" \
    "work + N (inlined.c:$outermost)" "main + N (inlined.c:$call)" >expected
  cmp -s expected found || fail "$2: other lines: $(diff expected found)"
}

# ---- a process: lines by default, whole paths or no lines on request
start ./inlined "$work/raw"
run 0 stack "$pid"
has_lines '' process
err_is_empty
# An inlined call has its frame's index and address.
[[ $(awk '/ (spin|wait_for_it|work[.a-z0-9]*) / { print $1, $3 }' out | sort -u | wc -l) -eq 1 ]] ||
  fail "an inlined call has another index or address: $(cat out)"
run 0 stack --full-path "$pid"
has_lines '/[^ ]*/tests/tool/' --full-path
run 0 stack --full-path --map-path /nowhere=/wrong --map-path "$(dirname "$source")=/here=now" "$pid"
has_lines '/here=now/' --map-path
run 0 stack --columns "$pid"
[[ $(grep -cE ' (spin|wait_for_it|work[.a-z0-9]*|main)( \[inlined\]| \+ [0-9]+) \(inlined\.c:[0-9]+:[1-9][0-9]*\)$' out) -eq 4 ]] ||
  fail "--columns: $(cat out)"
for wrong in nothing =new; do
  run 2 stack --map-path "$wrong" "$pid"
  err_has "^unspool: --map-path takes OLD=NEW, two folders, not \"$wrong\"$"
done
run 0 stack --style crash-report "$pid"
has_lines '' crash-report
run 0 stack --style folded "$pid"
out_has ';main;work[.a-z0-9]*;wait_for_it;spin 1$'
out_lacks 'inlined\.c'
for style in backtrace-symbols portable; do
  run 0 stack --style "$style" "$pid"
  out_lacks 'inlined\.c|\[inlined\]|wait_for_it'
done
run 0 stack --no-lines "$pid"
out_lacks 'inlined\.c|\[inlined\]|wait_for_it'
out_has ' work[.a-z0-9]* \+ [0-9]+$'
run 2 stack --lines --no-lines "$pid"
err_has 'either --lines or --no-lines'
run 2 stack --lines --no-symbols "$pid"
err_has 'either --lines or --no-symbols'

# ---- a raw capture; it stays the same from one look to the next
kill -USR1 "$pid"
wait_until test -s raw || fail "the program writes no capture"
run 0 stack raw
has_lines '' "raw capture"
cp out by-source
run 0 stack --json raw
cp out raw.json
run 0 stack --json --no-lines raw
out_lacks 'source_|"inlined"'

# The lines without names become, with --log, what `stack` writes itself.
mkdir files
cp inlined files
for style in call-stack-symbols crash-report plain; do
  run 0 stack --image inlined --style "$style" --no-symbols raw
  cp out log
  run 0 stack --style crash-report --no-symbols raw
  cp out binary-images
  run 0 symbolize --quiet --log log --search files --binary-images binary-images
  cp out named
  run 0 stack --image inlined --style "$style" raw
  cmp -s out named || fail "$style: --log has other lines: $(diff out named)"
done

# ---- a core file
if [[ $(cat /proc/sys/kernel/core_pattern) == core && $(cat /proc/sys/kernel/core_uses_pid) == 0 ]]; then
  rm -f core
  ulimit -c unlimited
  kill -SEGV "$pid"
  wait "$pid" 2>/dev/null || :
  running=()
  if [[ -s core ]]; then
    run 0 stack core
    has_lines '' core
  fi
else
  kill -KILL "$pid"
  wait "$pid" 2>/dev/null || :
  running=()
fi

# ---- indexes, used in place of debug information, which has been moved away
run 0 index --quiet -o store inlined
mkdir whole
mv inlined whole/
strip -g -o inlined whole/inlined
run 0 stack raw
err_is_empty
cp out without
out_lacks 'inlined\.c|\[inlined\]|wait_for_it'
run 0 stack --image inlined raw
cp out without-others
run 0 stack --image inlined --no-lines raw
cmp -s out without-others || fail "without debug information --no-lines changes something: $(diff without-others out)"
run 0 stack --index store raw
cmp -s out by-source || fail "the index says something else: $(diff by-source out)"
err_is_empty
UNSPOOL_INDEX_STORE=$work/store run 0 stack raw
cmp -s out by-source || fail "UNSPOOL_INDEX_STORE is not used"
mkdir -p .cache/unspool
mv store .cache/unspool/index
run 0 stack raw
cmp -s out by-source || fail "the store in ~/.cache is not used"
mv .cache/unspool/index store
address=0x$(nm inlined | awk '$3 ~ /^work/ { print $1 }')
run 0 symbolize --index store -o inlined "$address"
out_has '^work.* \(inlined\.c:[0-9]+\)$'
run 0 symbolize --log log --search inlined --binary-images binary-images --index store
out_has ' \[inlined\] \(inlined\.c:'
cp out by-file
# Paths are mapped for addresses, logs, records and reports, whether or not these show them.
folder=$(dirname "$source")
run 0 symbolize --index store -fullPath --columns --map-path "$folder=/here" -o inlined "$address"
out_has '^work.* \(/here/inlined\.c:[0-9]+:[0-9]+\)$'
run 0 symbolize --index store --json --map-path "$folder/=/here/" -o inlined "$address"
out_has '"source_directory": "/here",? '
run 0 report --json --search inlined --index store --map-path "$folder=/here" binary-images
out_has '"source_directory": "/here"'
out_lacks "\"source_directory\": \"$folder\""
run 2 symbolize --columns --log log --search inlined
err_has 'log has its own options'
# The indexes alone are enough.
run 0 symbolize --log log --binary-images binary-images --index store
diff out by-file >differs || fail "a log by its index alone: $(cat differs)"
run 0 report --search inlined --index store binary-images
out_has ' \[inlined\] \(inlined\.c:'
cp out by-file
run 0 report --index store binary-images
diff out by-file >differs || fail "a report by its index alone: $(cat differs)"

# If there are no lines, one message tells the user who asked for them.
run 0 stack --lines raw
[[ $(grep -c 'lines need debug information.*/inlined: has no debug information; looked for' err) -eq 1 ]] ||
  fail "no message, or several: $(cat err)"
run 0 symbolize -i -o inlined "$address" "$address"
[[ $(grep -c 'lines need debug information' err) -eq 1 ]] || fail "symbolize -i: $(cat err)"
run 0 symbolize -o inlined "$address"
err_is_empty
# Logs get the names that they get without lines, and one message for all of them, which says where lines were looked for.
run 0 stack --image inlined --no-lines --style plain raw
cp out bare
run 0 symbolize --log log --log log --search inlined --binary-images binary-images
cat bare bare | cmp -s - out || fail "logs without debug information: $(diff bare out)"
[[ $(grep -c 'lines need debug information' err) -eq 1 ]] || fail "not one message for two logs: $(cat err)"
err_has "^unspool: .*inlined [0-9a-f]{40}: lines need debug information .*: neither is in --search or in $work/\\.cache/unspool/index\$"
run 0 symbolize --log log --search inlined --binary-images binary-images --index elsewhere
err_has ': neither is in --search or in elsewhere$'
run 0 symbolize --log log --search whole --binary-images binary-images
out_has ' \[inlined\] \(inlined\.c:'
! grep 'lines need' err || fail "there are lines"

# ---- an index of another build is not used; a damaged one is reported, and the debug information is used
index=$(find store -name index)
compile_other() { (cd "$started_in" && compile -g -DOTHER=1 -O1 -o "$work/other"); }
compile_other
mkdir others
run 0 index --quiet -o others other
mkdir -p "others/$(dirname "${index#store/}")"
mv "$(find others -name index)" "others/${index#store/}"
run 0 stack --index others raw
cmp -s out without || fail "the index of another build is used: $(diff without out)"
size=$(wc -c <"$index")
cp "$index" kept
# An index of an older version is not read.
printf '\001' | dd of="$index" bs=1 seek=8 conv=notrunc status=none
strip -g -o inlined whole/inlined
run 0 stack --index store raw
cmp -s out without || fail "an index of another version is used: $(diff without out)"
for damage in header cut block; do
  cp whole/inlined inlined
  cp kept "$index"
  case $damage in
  header) head -c 20 kept >"$index" ;;
  cut) head -c $((size / 2)) kept >"$index" ;;
  # Damage that is found when the block is read, not when the index is opened.
  block) head -c $((size / 2 - 256)) /dev/zero | dd of="$index" bs=1 seek=256 conv=notrunc status=none ;;
  esac
  run 0 stack --index store raw
  cmp -s out by-source || fail "$damage: a damaged index changes lines: $(diff by-source out)"
  [[ $(grep -c "^unspool: .*$index: .*" err) -eq 1 ]] || fail "$damage: a damaged index is not reported: $(cat err)"
  run 0 symbolize --index store -o inlined "$address"
  err_has "$index"
  run 0 symbolize --log log --search inlined --binary-images binary-images --index store
  err_has "$index"
  run 0 symbolize --quiet --log log --search inlined --binary-images binary-images --index store
  err_is_empty
  strip -g -o inlined whole/inlined
  run 0 stack --index store raw
  cmp -s out without || fail "$damage: a damaged index without its source: $(diff without out)"
  err_has "$index"
done
cp kept "$index"

# A debug file beside the program has lines, too.
objcopy --only-keep-debug whole/inlined inlined.debug
objcopy --add-gnu-debuglink=inlined.debug inlined
run 0 stack raw
cmp -s out by-source || fail "the debug file is not used: $(diff by-source out)"

# Last, because validators may be missing.
cp raw.json out
[[ $(grep -c '"source_file": "inlined.c"' out) -eq 4 ]] || fail "JSON: $(cat out)"
out_has '"inlined": \['
cd "$started_in"
validate stacks "$work/raw.json"
verdict
