#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests `unspool store add` with zip archives: of dSYMs, of folders of them, and hostile ones: bombs, names outside the
# archive, links, damage. Skipped if the command was built without libarchive. Runs in the folder of the build.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/common.sh"
need_tools gcc objcopy python3 readelf
cd "$work"
export TMPDIR=$work/temporary HOME=$work/home
mkdir "$TMPDIR"
unset UNSPOOL_INDEX_STORE XDG_CACHE_HOME
echo 'int f(int a) { return a + 1; }' >f.c
gcc -g -shared -fPIC -nostdlib -Wl,--build-id=sha1 -o lib f.c
id=$(readelf -n lib | sed -n 's/.*Build ID: //p')
echo >empty.zip
status=0
"$unspool" store add -o none empty.zip >out 2>err || status=$?
if grep -q 'without libarchive\|not installed' err; then
  [[ $status -eq 3 ]] || fail "without libarchive: exit status $status"
  [[ $failures -eq 0 ]] || verdict
  skip "$(cat err)"
fi

python3 - <<'END'
import os, zipfile
def archive(name, *entries, kind=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(name, 'w', kind) as out:
        for path, content in entries:
            out.writestr(path, content)
whole = open('lib', 'rb').read()
inside = 'lib.dSYM/Contents/Resources/DWARF/lib'
archive('lib.dSYM.zip', (inside, whole), ('lib.dSYM/Contents/Info.plist', 'text'))
archive('stored.zip', ('a/b/' + inside, whole), kind=zipfile.ZIP_STORED)
archive('up.zip', ('../../../outside', whole))
archive('middle.zip', ('a/../../outside', whole))
archive('absolute.zip', ('/outside', whole))
archive('backslash.zip', ('..\\outside', whole))
archive('twice.zip', ('lib', whole), ('lib', whole))
# As many parts as are allowed, and one more.
archive('parts.zip', ('a/' * 63 + 'lib', whole))
archive('more-parts.zip', ('a/' * 64 + 'lib', whole))
# Each entry has a folder of its own, and begins like an object file.
archive('folders.zip', *(('%x/%x/lib' % (i // 600, i), whole[:4]) for i in range(3000)))
# A large archive may have more.
archive('large.zip', ('lib', whole), ('padding', os.urandom(900 << 10)),
        *(('%x/%x/lib' % (i // 600, i), whole[:4]) for i in range(3000)))
archive('below-file.zip', ('lib', whole), ('lib/lib', whole))
archive('bomb.zip', ('lib', whole[:4] + bytes(200 << 20)))
# A file that is not an object file is not unpacked, however large it is.
archive('zeros.zip', ('zeros', bytes(200 << 20)), (inside, whole))
link = zipfile.ZipInfo('link')
link.create_system = 3
link.external_attr = 0o120777 << 16
archive('link.zip', (link, '/'), ('link/outside', whole))
archive('nested.zip', ('inner.zip', open('lib.dSYM.zip', 'rb').read()))
content = open('lib.dSYM.zip', 'rb').read()
open('cut.zip', 'wb').write(content[:len(content) // 2])
changed = bytearray(content)
for i in range(200, 400):
    changed[i] ^= 0x5a
open('damaged.zip', 'wb').write(changed)
END

nothing_left() {
  [[ -z $(find "$TMPDIR" -mindepth 1) ]] || fail "$1: left in the temporary folder: $(find "$TMPDIR")"
  [[ -z $(find "$work" -name outside) && ! -e /outside ]] || fail "$1: a file was written outside: $(find "$work" -name outside)"
}

for archive in lib.dSYM.zip stored.zip zeros.zip parts.zip large.zip; do
  rm -rf store
  run 0 store add -o store "$archive"
  out_has "^$id .*  $archive/"
  run 0 store list store
  out_has "^$id .* lines +lib$"
  nothing_left "$archive"
done
# A message names the file in the archive, not where it was unpacked.
objcopy --strip-debug lib bare
python3 -c 'import zipfile; zipfile.ZipFile("bare.zip", "w").write("bare")'
run 0 store add --quiet -o bare-store bare.zip
paths_once 'a file without debug information' 'bare\.zip/bare: has no debug information; looked for: .*'
nothing_left bare.zip
# An archive in a folder.
mkdir folder
cp lib.dSYM.zip folder
rm -rf store
run 0 store add -o store folder
out_has "^$id "

while read -r archive message; do
  rm -rf store
  run 3 store add -o store "$archive"
  err_has "^unspool: $archive: .*$message"
  [[ ! -e store ]] || fail "$archive: something was added: $(find store)"
  nothing_left "$archive"
done <<'END'
up.zip outside of the archive
middle.zip outside of the archive
absolute.zip outside of the archive
backslash.zip outside of the archive
twice.zip two files of one name
below-file.zip two files of one name
bomb.zip too much
more-parts.zip a name of more than 64 parts
folders.zip too many folders for an archive of its size
cut.zip .
damaged.zip .
empty.zip .
END
# Not read: a pipe would not end.
mkfifo pipe.zip
run 3 store add -o store pipe.zip
err_has '^unspool: pipe.zip: not a regular file$'
rm pipe.zip
# A link is left out, and a file whose path leads through it stays in the folder.
rm -rf store
run 0 store add -o store link.zip
nothing_left link.zip
# Archives inside an archive are not unpacked.
rm -rf store
run 0 store add -o store nested.zip
[[ ! -e store ]] || fail "nested.zip was unpacked"
nothing_left nested.zip
# In a folder, the other files are added all the same.
cp bomb.zip folder
rm -rf store
run 1 store add -o store folder
out_has "^$id "
err_has 'bomb.zip: holds too much'
nothing_left folder
verdict
