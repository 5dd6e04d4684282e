#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests `unspool store`: what is added; that an existing index stays unless a file has more; commands that are killed;
# several commands in one store; damaged indexes; and what prune removes. Runs in the folder of the build.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/common.sh"
need_tools gcc strip objcopy readelf python3
cd "$work"
unset UNSPOOL_INDEX_STORE XDG_CACHE_HOME
export HOME=$work/home

# library NAME FUNCTION...: makes a shared library with debug information and a build id.
library() {
  local name=$1 function
  shift
  for function; do echo "int $function(int a) { return a * ${#function} + 1; }"; done >"$name.c"
  gcc -O1 -g -shared -fPIC -nostdlib -Wl,--build-id=sha1 -o "$name" "$name.c"
}
id_of() { readelf -n "$1" | sed -n 's/.*Build ID: //p'; }
index_of() { echo "store/$(id_of "$1" | sed 's/^../&\//')/index"; }

# ---- folders of all kinds: an app beside its debug file, symbols in deeper folders
mkdir -p App.xcarchive/Products/App.app App.xcarchive/dSYMs/one.dSYM/Contents/Resources/DWARF more
library one alpha beta
library two gamma_ray
cp one App.xcarchive/dSYMs/one.dSYM/Contents/Resources/DWARF/one
strip -o App.xcarchive/Products/App.app/one one
echo text >App.xcarchive/Info.plist
mv two more/two
run 0 store add -o store App.xcarchive more
out_has "^$(id_of one) [0-9]+ bytes of [1-9][0-9]*, lines and symbols  App.xcarchive/dSYMs/one.dSYM/Contents/Resources/DWARF/one\$"
# The stripped copy of a build comes first, and its index is replaced. The summary counts indexes, bytes and kinds.
out_has ' [1-9][0-9]* bytes, symbols only  App.xcarchive/Products/App.app/one$'
out_has '^3 indexes written, 2 with lines: [0-9]+ bytes of [0-9]+$'
run 0 store list store
[[ $(wc -l <"$work/out") -eq 2 ]] || fail "two builds: $(cat "$work/out")"
out_has "^$(id_of one) $(uname -m) +[0-9]+ lines +one\$"
out_has "^$(id_of more/two) $(uname -m) +[0-9]+ lines +two\$"
run 0 store list --json store
cp "$work/out" listed.json

# ---- incremental: an existing index is not written again, unless the user asks for that, it is damaged, or the new
# file has more
inode() { stat -c %i "$1"; }
before=$(inode "$(index_of one)")
run 0 index -o store one
out_has 'bytes are there  one$'
[[ $(inode "$(index_of one)") == "$before" ]] || fail "an index was written again"
run 0 store add -o store --force one
out_has 'bytes of'
[[ $(inode "$(index_of one)") != "$before" ]] || fail "--force writes nothing"
# A stripped file that is added later must not replace the whole file's index, but the whole file's replaces the
# stripped one's.
run 0 store add -o store App.xcarchive/Products
run 0 store list store
out_lacks symbols
rm -r store
run 0 store add -o store App.xcarchive/Products
run 0 store list store
out_has "^$(id_of one) .* symbols one$"
run 0 store add -o store one
run 0 store list store
out_has "^$(id_of one) .* lines +one$"
# Breakpad's symbols must not replace debug information either, in either order; symbols alone even less.
id=$(id_of one)
printf '%s\n' "MODULE Linux $(uname -m) 00112233445566778899AABBCCDDEEFF0 one" "INFO CODE_ID ${id^^} one" 'FILE 0 /src/one.c' \
  'FUNC 1000 10 0 told_by_breakpad' '1000 10 7 0' >one.sym
rm -r store
run 0 store add -o store App.xcarchive/Products
run 0 store add -o store one.sym
out_has 'bytes of .* one\.sym$'
grep -q told_by_breakpad "$(index_of one)" || fail "symbols alone were kept in place of Breakpad's"
for poorer in one.sym App.xcarchive/Products; do
  run 0 store add -o store "$poorer"
  out_has 'bytes are there '
done
run 0 store add -o store one
out_has 'bytes of .* one$'
for poorer in one.sym App.xcarchive/Products; do
  run 0 store add -o store "$poorer"
  out_has 'bytes are there '
  ! grep -q told_by_breakpad "$(index_of one)" || fail "$poorer: Breakpad's symbols are in the place of debug information"
done
run 0 store add --force -o store one.sym
grep -q told_by_breakpad "$(index_of one)" || fail "--force keeps what is richer"
run 0 store add --force -o store one

# ---- messages: each path stands in them once
strip -g -o bare one
debug_file=/usr/lib/debug/.build-id/$(id_of one | sed 's/^../&\//').debug
run 0 index --quiet -o messages bare
paths_once 'without debug information' "bare: has no debug information; looked for: $debug_file: no such file; it names no debug file \\(\\.gnu_debuglink\\)"
cp more/two two
objcopy --add-gnu-debuglink=two bare linked
rm two
run 0 index --quiet --force -o messages linked
paths_once 'without the debug file' "linked: has no debug information; looked for: $debug_file: no such file; two: .*"
run 1 index --verify -o nowhere one
paths_once 'without an index' 'one: nowhere: has no index of it'
run 0 index --quiet --force -o messages one
index=messages/$(index_of one | cut -d/ -f2-)
truncate -s 100 "$index"
run 1 index --verify -o messages one
paths_once 'a damaged index' "one: $index: offset 0x[0-9a-f]+: .*"
mkdir file
: >file/messages
run 4 index --quiet -o file/messages one
paths_once 'a store that cannot be written' 'one: file/messages/[^ ]*: .*'

# ---- damage
run 0 store add -o store more
damaged=$(index_of more/two)
python3 - "$damaged" <<'END'
import sys
with open(sys.argv[1], 'r+b') as file:
    file.seek(-700 if len(file.read()) > 1000 else -60, 2)
    byte = file.read(1)
    file.seek(-1, 1)
    file.write(bytes([byte[0] ^ 0x10]))
END
run 1 store verify store
err_has "^unspool: $damaged: "
out_has '^2 indexes, 1 damaged$'
cp -R store damaged
run 0 store add -o store more
out_has 'bytes of'
run 0 store verify store
out_has '^2 indexes, 0 damaged$'
# An index under the UUID of another build.
cp "$(index_of one)" "$damaged"
run 1 store verify --quiet store
err_has 'of another build'
[[ ! -s $work/out ]] || fail "verify --quiet says: $(cat "$work/out")"
run 0 store prune store
out_has "^damaged  $damaged$"
[[ ! -e $damaged && ! -e $(dirname "$damaged") && -e $(index_of one) ]] || fail "prune: $(find store)"
: >"$(index_of one)"
run 1 store verify store
run 0 store add -o store one
run 0 store verify store

# ---- the limit of a file's size (SIGXFSZ) ends no program: the index is refused
rm -r store
mapfile -t names < <(seq -f 'a_function_with_a_long_name_%g' 1 2000)
library large "${names[@]}"
status=0
(
  ulimit -f 4 -c 0
  exec "$unspool" store add -o store large
) >out 2>err || status=$?
[[ $status -eq 4 ]] || fail "writing 4 kB of an index: exit status $status"
err_has 'File too large$'
left=("$(index_of large)".*)
[[ ! -e $(index_of large) ]] || fail "a part of an index was stored: $(find store)"

# ---- what a run that was killed has left
if [[ ! -e ${left[0]} ]]; then
  left=("$(index_of large).99.abcdef")
  echo a part of an index >"${left[0]}"
fi
run 0 store verify store
out_has '^0 indexes, 0 damaged$'
run 0 store prune store
[[ -e ${left[0]} ]] || fail "prune removes what may still be written"
touch -d '2 hours ago' "${left[0]}"
run 0 store prune --dry-run store
out_has "^left over  ${left[0]}$"
[[ -e ${left[0]} ]] || fail "--dry-run removes something"
run 0 store add -o store large
run 0 store prune --quiet store
[[ ! -e ${left[0]} && -e $(index_of large) ]] || fail "prune: $(find store)"
run 0 store verify store
out_has '^1 index, 0 damaged$'
# Killed at other moments.
for round in 1 2 3 4 5 6 7 8; do
  rm -rf store
  "$unspool" store add --quiet -o store large &
  pid=$!
  sleep "0.0$round"
  kill -KILL "$pid" 2>/dev/null || :
  wait "$pid" 2>/dev/null || :
  [[ -d store ]] || continue
  run 0 store verify store
done

# ---- several commands in one store; the index of a poorer file must never stay
strip -o poor large
for round in 1 2 3; do
  rm -rf store
  writers=()
  for source in large poor large poor more one; do
    "$unspool" store add --quiet -o store "$source" 2>/dev/null &
    writers+=($!)
  done
  for pid in "${writers[@]}"; do wait "$pid" || fail "one of several commands: exit status $?"; done
  run 0 store verify store
  out_has '^3 indexes, 0 damaged$'
  run 0 store list store
  out_has "^$(id_of large) .* lines +"
done
# While other commands remove empty folders.
for round in 1 2 3 4 5; do
  rm -rf busy
  pruners=() writers=()
  for _ in 1 2; do
    (while [[ ! -e stop ]]; do "$unspool" store prune --quiet busy >/dev/null 2>&1 || :; done) &
    pruners+=($!)
  done
  for source in one more large; do
    "$unspool" store add --quiet -o busy "$source" 2>said &
    writers+=($!)
  done
  for pid in "${writers[@]}"; do wait "$pid" || fail "beside prune: exit status $?: $(cat said)"; done
  touch stop
  for pid in "${pruners[@]}"; do wait "$pid" || :; done
  rm stop
  run 0 store verify busy
  out_has '^3 indexes, 0 damaged$'
done
[[ -z $(find store -type f ! -name index) ]] || fail "left over: $(find store -type f ! -name index)"

# ---- prune by age; files that other programs put there must stay
touch -d '40 days ago' "$(index_of one)"
echo other >"$(dirname "$(index_of one)")/notes"
run 0 store prune --older-than 41 store
out_has '^0 files'
run 0 store prune --older-than 39 --dry-run store
out_has '^1 files, [0-9]+ bytes would be removed$'
run 0 store prune --older-than 39 store
out_has "^not used  $(index_of one)$"
[[ -e $(dirname "$(index_of one)")/notes && ! -e $(index_of one) ]] || fail "prune --older-than: $(find store)"
run 0 store list store
[[ $(wc -l <"$work/out") -eq 2 ]] || fail "prune --older-than: $(cat "$work/out")"

# ---- the index is used in place of the file
address=$(nm large | awk '$3 == "a_function_with_a_long_name_77" { print $1 }')
run 0 symbolize -o large --index store "0x$address"
out_has 'a_function_with_a_long_name_77.*large.c:77'

# ---- arguments
run 2 store
err_has 'add, list, verify or prune'
run 2 store fly
err_has '"fly" is none'
run 2 store list a b
err_has 'one store'
run 2 store prune --older-than 0 store
err_has 'older-than'
run 2 store add
run 3 store list nowhere
run 0 store --help
run 0 store prune --help
out_has '^usage: unspool store'
validate store listed.json
# A folder without anything to index is probably the wrong one: the command says so.
mkdir nothing
echo text >nothing/text
run 1 store add -o store nothing
err_has '^unspool: nothing: no file in this folder can be indexed$'
run 1 index --quiet -o store nothing
verdict
