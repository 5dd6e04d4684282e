#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests that `unspool store` stays in its store: links in the place of folders and indexes lead to files that are not the
# store's. Nothing there is removed, listed or written. Runs in the folder of the build.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/../tool/common.sh"
need_tools gcc readelf
cd "$work"
echo 'int f(int a) { return a + 1; }' >f.c
gcc -g -shared -fPIC -nostdlib -Wl,--build-id=0xab00112233445566778899aabbccddeeff001122 -o lib f.c
folder=ab/00112233445566778899aabbccddeeff001122

# Makes a folder outside of the store with files that prune would remove, and a store with nothing in it.
make_outside() {
  rm -rf outside store
  mkdir -p outside/$folder store
  echo damaged >outside/$folder/index
  echo left >outside/$folder/index.1.abcdef
  touch -d '2 hours ago' outside/$folder/index.1.abcdef
  mkdir outside/ab/11
}
# stays WHAT: checks that all is there.
stays() {
  [[ -e outside/$folder/index && -e outside/$folder/index.1.abcdef && -d outside/ab/11 ]] ||
    fail "$1: something was removed outside of the store: $(find outside)"
  [[ $(find outside | wc -l) -eq 6 ]] || fail "$1: something was written outside of the store: $(find outside)"
}
# try_all WHAT LINK: runs all commands over the store.
try_all() {
  run 0 store prune store
  err_has "^unspool: store/$2: a symbolic link, which is not followed$"
  stays "$1: prune"
  run 0 store list store
  [[ ! -s out ]] || fail "$1: listed: $(cat out)"
  run 0 store verify store
  out_has '^0 indexes, 0 damaged$'
  stays "$1: list"
}

make_outside
ln -s ../outside/ab store/ab
try_all 'a linked prefix' ab
status=0
"$unspool" store add -o store lib >out 2>err || status=$?
[[ $status -eq 3 ]] || fail "a linked prefix: add: exit status $status"
err_has '^unspool: .*store/ab/.*: permission denied$'
stays 'a linked prefix: add'

make_outside
mkdir store/ab
ln -s ../../outside/$folder store/$folder
try_all "a linked build" $folder
run 3 store add -o store lib
stays 'a linked build: add'

make_outside
mkdir -p store/$folder
ln -s ../../../outside/$folder/index store/$folder/index
try_all "a linked index" $folder/index
# A new index takes the place of a link.
run 0 store add -o store lib
[[ -f store/$folder/index && ! -L store/$folder/index ]] || fail "the linked index stays: $(find store)"
stays 'a linked index: add'
run 0 store verify store
out_has '^1 index, 0 damaged$'

# The store itself may be reached through a link, and files in the place of folders are not the store's.
ln -s store link
echo >store/cd
echo >store/ab/11
run 0 store verify link
out_has '^1 index, 0 damaged$'
echo damaged >store/$folder/index
run 0 store prune link
[[ ! -e store/$folder ]] || fail "prune through a link: $(find store)"
run 0 store add -o link lib
[[ -f store/$folder/index ]] || fail "add through a link: $(find store)"

# A user who keeps a folder locked does not stop prune.
echo damaged >store/$folder/index
python3 - $folder <<'END' &
import fcntl, os, sys, time
folder = os.open("store/" + sys.argv[1], os.O_RDONLY)
fcntl.flock(folder, fcntl.LOCK_EX)
open("locked", "w")
time.sleep(600)
END
running+=($!)
wait_until test -e locked || fail "the folder is not locked"
run 1 store prune store
err_has 'another command keeps its folder locked; the file stays$'
[[ -e store/$folder/index ]] || fail "a locked index was removed"
kill -KILL "${running[@]}"
running=()

# The folder that a command of --fetch writes to is removed with its links, not with what they lead to.
make_outside
cat >getter <<END
#!/bin/sh
to=\$(dirname "\$1")
mkdir -p "\$to/a/b"
ln -s "$work/outside" "\$to/link"
ln -s "$work/outside" "\$to/a/b/link"
exit 1
END
chmod +x getter
printf 'Process: lib [1]\n\nThread 0 Crashed:\n0   lib  0x0000000010000010 0x10000000 + 16\n\nBinary Images:\n0x10000000 - 0x10ffffff lib x86_64 <%s> /gone/lib\n' \
  "${folder//\//}" >report
run 0 symbolize --fetch './getter {dest} {uuid}' --fetch-cache fetched --log report
err_has '^unspool: lib .*: --fetch: exit status 1$'
stays 'a folder of --fetch'
[[ -z $(find fetched -mindepth 1) ]] || fail "left by --fetch: $(find fetched)"
verdict
