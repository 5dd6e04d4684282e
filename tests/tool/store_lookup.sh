#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests where `symbolize --log` and `report` find files: by path in each layout, before they list any folder; in a store
# with very many builds, as fast as with one; and by --fetch, with commands that fail, hang, or write something else.
# Runs in the folder of the build.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/common.sh"
need_tools gcc strip objcopy readelf nm sha1sum
cd "$work"
unset UNSPOOL_INDEX_STORE
export HOME=$work/home XDG_CACHE_HOME=$work/cache

echo 'int answer(int a) { return a * 42; }' >lib.c
gcc -O1 -g -shared -fPIC -nostdlib -Wl,--build-id=sha1 -o lib lib.c
# A build id of 16 bytes, as a UUID has, for LLDB's layout.
gcc -O1 -g -shared -fPIC -nostdlib -Wl,--build-id=0x00112233445566778899aabbccddeeff -o short lib.c
strip -o stripped lib
strip --strip-all -o bare lib
objcopy --only-keep-debug lib debug
id_of() { readelf -n "$1" | sed -n 's/.*Build ID: //p'; }

arch=$(uname -m)
[[ $arch != aarch64 ]] || arch=arm64
# report_of FILE: prints a report with one frame in the file.
report_of() {
  local offset
  offset=$((16#$(nm "$1" | awk '$3 == "answer" { print $1 }') + 2))
  printf 'Process: lib [1]\n\nThread 0 Crashed:\n0   lib  0x%016x 0x10000000 + %d\n\nBinary Images:\n0x10000000 - 0x10ffffff lib %s <%s> /gone/lib\n' \
    $((0x10000000 + offset)) "$offset" "$arch" "$(id_of "$1")"
}
report_of lib >report
report_of short >report-short
id=$(id_of lib)
unified=${id:0:2}/${id:2}

# put FILE PLACE: copies a file to a place below laid, which must be found there without listing folders. strace shows
# whether a folder was listed.
put() { mkdir -p "$(dirname "laid/$2")" && cp "$1" "laid/$2"; }
traces=
# Sanitizers make system calls of their own, and their leak checker cannot run under strace.
if have strace && strace -o /dev/null "$unspool" --version >/dev/null 2>&1 && ! ldd "$unspool" | grep -c 'lib[a-z]*san\.' >/dev/null; then
  traces=yes
fi

# found REPORT WHAT: checks that the frame gets its name, and that the folder beside was not listed.
found() {
  mkdir -p laid/zz/beside
  cp stripped laid/zz/beside/other
  run 0 symbolize --log "$1" --search laid
  out_has 'answer \+ 2'
  if [[ -n $traces ]]; then
    strace -f -e trace=openat,open -o trace "$unspool" symbolize --log "$1" --search laid >/dev/null 2>&1
    ! grep -q 'zz/beside\|laid"' trace || fail "$2: a folder was gone through: $(grep 'zz/beside\|laid"' trace)"
  fi
  run 0 report --search laid "$1"
  out_has 'answer \+ 2'
  rm -r laid
}
for place in "$unified/debuginfo" "$unified/dwarf" "$id/debuginfo" ".build-id/$unified.debug" "$unified.debug"; do
  put lib "$place"
  found report "$place"
  put debug "$place"
  found report "$place (split off)"
done
put short 0011/2233/4455/6677/8899/AABBCCDDEEFF
found report-short "LLDB's layout"
ln -s "$work/short" link
mkdir -p laid/0011/2233/4455/6677/8899
mv link laid/0011/2233/4455/6677/8899/AABBCCDDEEFF
found report-short "LLDB's layout with links"
# An index in the unified layout.
"$unspool" store add --quiet -o laid lib
found report "an index below --search"

# ---- the program itself is found, too, and does not hide a file that has more
for place in "$unified/executable" "$id/executable" ".build-id/$unified"; do
  put lib "$place"
  run 0 symbolize --log report --search laid
  out_has 'answer \+ 2 \(lib\.c:1\)'
  rm -r laid
  put bare "$place"
  put lib deeper/in/another/folder/lib
  run 0 symbolize --log report --search laid
  out_has 'answer \+ 2 \(lib\.c:1\)'
  rm -r laid
done
# A poor index does not hide a file. Another build's file, and debuginfod's empty file for "not found", are skipped.
"$unspool" store add --quiet -o poor stripped 2>/dev/null || :
put lib somewhere/lib
run 0 symbolize --log report --search laid --index poor
out_has 'answer \+ 2 \(lib\.c:1\)'
mkdir -p "laid/$id"
: >"laid/$id/debuginfo"
run 0 symbolize --log report --search laid
out_has 'answer \+ 2 \(lib\.c:1\)'
put short "$unified/debuginfo"
run 0 symbolize --log report --search laid
out_has 'answer \+ 2 \(lib\.c:1\)'
err_has "laid/$unified/debuginfo: "
rm -r laid

# ---- very many builds must not take longer than one
"$unspool" store add --quiet -o one lib
"$unspool" store add --quiet -o many lib
builds=${USP_STORE_BUILDS:-2000}
# A folder for each of the builds, with a hard link to the one index.
python=$(command -v python3 || :)
if [[ -n $traces && -n $python ]]; then
  "$python" - many "$builds" "many/$unified/index" <<'END'
import hashlib, os, sys
store, count, index = sys.argv[1], int(sys.argv[2]), sys.argv[3]
for i in range(count):
    name = hashlib.sha1(b'%d' % i).hexdigest()
    folder = f'{store}/{name[:2]}/{name[2:]}'
    os.makedirs(folder, exist_ok=True)
    try:
        os.link(index, folder + '/index')
    except OSError:  # too many links to one file
        pass
END
  # Counts the system calls after the report is opened: before that the loader searches for libraries, in more places
  # here than after an installation.
  for store in one many; do
    strace -f -o trace "$unspool" symbolize --log report --index "$store" >out 2>err
    grep -q 'answer + 2 (lib.c:1)' out || fail "$store: $(cat out err)"
    sed '1,/"report"/d; /+++ exited/d' trace | wc -l >"calls-$store"
  done
  cmp -s calls-one calls-many || fail "one build takes $(cat calls-one) system calls, $builds take $(cat calls-many)"
  # The first look at the report is not counted. The index is opened twice, with nine calls each.
  [[ $(cat calls-many) -le 26 ]] || fail "a report takes $(cat calls-many) system calls: $(cut -c1-120 trace)"
  # Names of C++: libc++abi's demangler comes first, because it knows the most names. Where it is missing, the loader
  # looks in a hundred places. That must happen once, however many names there are.
  cat >cxx.c <<'END'
int answer(int a) __asm__("_Z6answeri");
int answer(int a) { return a; }
int other(int a) __asm__("_Z5otheri");
int other(int a) { return a; }
END
  gcc -O1 -g -shared -fPIC -nostdlib -Wl,--build-id=sha1 -o cxx cxx.c
  "$unspool" store add --quiet -o cxx-store cxx
  for name in _Z6answeri _Z5otheri; do
    offset=$((16#$(nm cxx | awk -v name=$name '$3 == name { print $1 }')))
    printf '0   lib  0x%016x 0x10000000 + %d\n' $((0x10000000 + offset)) "$offset"
  done >frames-cxx
  sed "s/$id/$(id_of cxx)/; /^0 *lib/{r frames-cxx
d}" report >report-cxx
  strace -f -o trace-cxx "$unspool" symbolize --log report-cxx --index cxx-store >out 2>&1
  for name in answer other; do
    grep -qE "$name\(int\)|_Z[56]${name}i" out || fail "C++: $(cat out)"
  done
  # One search may open a path twice: glibc adds both the processor's name and the platform's to each folder.
  grep -o 'open.*libc++abi\.so[^"]*"' trace-cxx | grep -o '"/.*' >searched || true
  [[ ! -s searched || $(grep -cxF "$(head -n 1 searched)" searched) -eq 1 ]] ||
    fail "libc++abi is looked for several times: $(wc -l <searched)"
  # Only the one path is opened: to learn the processor and the addresses, and to look up.
  [[ $(grep -c 'open.*many/' trace) -le 2 ]] || fail "the store was opened more than twice: $(grep many/ trace)"
fi

# ---- fetch
cat >./get <<'END'
#!/bin/sh
# What the tests fetch by: get HOW UUID DEST.
echo "$2" >>asked
case $1 in
file) cp lib "$3" ;;
index) cp one/*/*/index "$3" ;;
other) cp short "$3" ;;
text) echo '<html>not found</html>' >"$3" ;;
folder) mkdir "$3" ;;
link) ln -s "$PWD/lib" "$3" ;;
nothing) ;;
fail) echo 'the server is down' >&2; exit 7 ;;
kill) kill -KILL $$ ;;
hang) sleep 1000 & echo $! >hanging; wait ;;
noise) echo 'noise on the output'; cp lib "$3" ;;
esac
END
chmod +x get
# has_ended CHILD: whether a process has ended; a zombie counts as ended.
# shellcheck disable=SC2317,SC2329 # called by wait_until
has_ended() {
  local state
  state=$(sed 's/.*) //; s/ .*//' "/proc/$1/stat" 2>/dev/null || :)
  [[ -z $state || $state == Z ]]
}
# fetch HOW: runs the command with a report of two threads in that image. `asked` has a line for each call of the
# fetching command.
fetch() {
  rm -rf asked cache
  run 0 "${command[@]}" --fetch "$work/get $1 {uuid} {dest}" --fetch-timeout "${2:-300}"
}
{
  sed '/^Binary/,$d' report
  sed -n '/^Thread/,/^$/p' report | sed 's/Thread 0 Crashed/Thread 1/'
  sed -n '/^Binary/,$p' report
} >two
for command in 'symbolize --log two' 'report two'; do
  read -ra command <<<"$command"
  for how in file index; do
    fetch "$how"
    [[ $(grep -c 'answer + 2 (lib.c:1)' "$work/out") -eq 2 ]] || fail "${command[*]}, $how: $(cat "$work/out" "$work/err")"
    [[ $(cat asked) == "$id" ]] || fail "$how: asked for: $(cat asked)"
    # The file is in the cache now.
    run 0 "${command[@]}" --fetch "$work/get $how {uuid} {dest}"
    out_has 'answer \+ 2'
    [[ $(wc -l <asked) -eq 1 ]] || fail "$how: asked again: $(cat asked)"
    [[ $(find cache -type f) == cache/unspool/fetched/$unified/* ]] || fail "$how: the cache: $(find cache)"
    [[ $(find cache -type f | wc -l) -eq 1 && -z $(find cache -name 'fetch.*') ]] || fail "$how: $(find cache)"
  done
  fetch noise
  out_lacks noise
  err_has noise
  while read -r how message; do
    fetch "$how"
    out_lacks answer
    err_has "^unspool: lib $id: --fetch: $message"
    [[ $(grep -c -- '--fetch' "$work/err") -eq 1 && $(wc -l <asked) -eq 1 ]] || fail "$how: $(cat "$work/err" asked)"
    [[ -z $(find cache/unspool/fetched -mindepth 1) ]] || fail "$how: the cache: $(find cache)"
  done <<'END'
other wrote no file of this build
text wrote no file of this build
folder wrote no file of this build
link wrote no file of this build
nothing wrote no file of this build
fail exit status 7
kill killed by signal 9
END
  # Processes that the fetching command has started end with it.
  fetch hang 1
  err_has 'has not ended within 1 seconds'
  wait_until has_ended "$(cat hanging)" || fail "the fetched command's child runs on"
done
# A local file without lines must not hide one that can be fetched; if a local file has lines, nothing is fetched. If
# the fetching command fails, the local names are used.
mkdir stripped-files whole-files
cp stripped stripped-files/lib
cp lib whole-files/lib
"$unspool" store add --quiet -o whole lib
for report_command in 'symbolize --log report' 'report report'; do
  for place in '--search stripped-files' '--index poor' '--search stripped-files --index poor'; do
    for how in file index; do
      read -ra command <<<"$report_command $place"
      fetch "$how"
      out_has 'answer \+ 2 \(lib\.c:1\)'
      [[ $(cat asked) == "$id" ]] || fail "${command[*]}, $how: asked for: $(cat asked)"
    done
    fetch fail
    out_has 'answer \+ 2$'
    err_has "^unspool: lib $id: --fetch: exit status 7"
  done
  for place in '--search whole-files' '--index whole' '--search stripped-files --index whole'; do
    read -ra command <<<"$report_command $place"
    fetch file
    out_has 'answer \+ 2 \(lib\.c:1\)'
    [[ ! -e asked ]] || fail "${command[*]}: asked for: $(cat asked)"
  done
done
# A record is answered from the fetched file, which is fetched once for its build.
offset=$((16#$(nm lib | awk '$3 == "answer" { print $1 }')))
record="{\"frames\":[{\"build_id\":\"$id\",\"offset\":$offset}]}"
rm -rf asked cache
printf '%s\n' "$record" "$record" |
  "$unspool" symbolize --records --fetch "$work/get file {uuid} {dest}" >"$work/out" 2>"$work/err" || fail "records: $(cat "$work/err")"
[[ $(grep -c '"symbol":"answer".*lib\.c' "$work/out") -eq 2 && $(cat asked) == "$id" ]] || fail "records: $(cat "$work/out" asked)"
# The default store is used without being named: the one of the environment, or the one that store add fills.
run 2 symbolize --log report
rm -rf cache
run 0 report report
out_lacks answer
UNSPOOL_INDEX_STORE=$work/whole run 0 symbolize --log report
out_has 'answer \+ 2 \(lib\.c:1\)'
UNSPOOL_INDEX_STORE=$work/whole run 0 report report
out_has 'answer \+ 2 \(lib\.c:1\)'
run 0 store add --quiet lib
run 0 report report
out_has 'answer \+ 2 \(lib\.c:1\)'
run 0 symbolize --log report
out_has 'answer \+ 2 \(lib\.c:1\)'
rm -rf cache

# A command that is ended by a signal ends its fetching command, too, and removes its temporary folder.
rm -rf cache hanging
"$unspool" symbolize --log two --fetch "$work/get hang {uuid} {dest}" >"$work/out" 2>"$work/err" &
ended_by=$!
running+=("$ended_by")
wait_until test -s hanging || fail "the fetching command does not start"
kill -TERM "$ended_by"
status=0
wait "$ended_by" || status=$?
running=()
[[ $status -eq 143 ]] || fail "SIGTERM: exit status $status: $(cat "$work/err")"
wait_until has_ended "$(cat hanging)" || fail "SIGTERM: the fetched command's child runs on"
[[ -z $(find cache/unspool/fetched -mindepth 1) ]] || fail "SIGTERM: the cache: $(find cache)"
rm -rf cache
run 0 symbolize --log two --quiet --fetch "$work/get fail {uuid} {dest}"
run 0 symbolize --log two --fetch "$work/absent {uuid} {dest}"
err_has 'absent: .*; nothing is fetched$'
# Without a shell: words are passed on unchanged.
cat >words <<'END'
#!/bin/sh
for word; do printf '%s\n' "$word"; done >words.out
END
chmod +x words
run 0 symbolize --log report --fetch "$work/words '\$(touch hurt); a  b' \"it's\" x{uuid}y{UUID} ; {dest}" --fetch-cache elsewhere
mapfile -t words <words.out
[[ ${words[0]} == "\$(touch hurt); a  b" && ${words[1]} == "it's" && ${words[2]} == "x${id}y$id" && ${words[3]} == ';' &&
  ${words[4]} == elsewhere/fetch.*/file && ! -e hurt ]] || fail "the command's words: ${words[*]}"
run 0 symbolize --log report-short --fetch "$work/words {UUID} {dest}"
[[ $(head -n 1 words.out) == 00112233-4455-6677-8899-AABBCCDDEEFF ]] || fail "{UUID}: $(cat words.out)"
# With a shell, if the user asks for one: the values are its arguments.
rm -rf cache
# shellcheck disable=SC2016 # for that shell
run 0 symbolize --log report --fetch 'sh -c "cp $(echo lib) $2" sh {uuid} {dest}'
out_has 'answer \+ 2 \(lib\.c:1\)'
# A server that does not answer is not asked after the third image.
for i in 1 2 3 4 5; do sed "s/${id:0:8}/0000000$i/" report; done >five
rm -f asked
run 0 symbolize --log five --fetch "$work/get hang {uuid} {dest}" --fetch-timeout 1
err_has 'nothing more is fetched'
# The command may not have begun within the second.
asked=$(grep -c ': --fetch: has not ended within 1 seconds' "$work/err")
[[ $asked -eq 3 && $(wc -l <asked) -le 3 ]] || fail "a server that hangs was asked $asked times: $(cat "$work/err")"

run 2 symbolize --log report --fetch "$work/get {uuid}"
err_has '\{dest\}'
run 2 report --fetch "$work/get '{uuid} {dest}" report
err_has 'quotation mark'
run 2 report --fetch-timeout 0 --fetch 'a {uuid} {dest}' report
err_has 'fetch-timeout'
run 2 symbolize -o lib --fetch 'a {uuid} {dest}' 0x10
verdict
