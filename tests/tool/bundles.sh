#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests what is said when an address or an image has no name: other builds of the image, a damaged dSYM and one without its
# file, a load address that does not fit. Also -l in the other number system, -o with a bundle, and the index of a folder
# of --search.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/common.sh"
need_tools python3
# build FILE NUMBER: a copy of the program whose build id consists of this digit.
build() {
  mkdir -p "$(dirname "$1")"
  python3 - "$stuck" "$1" "$2" <<'END'
import sys
data = open(sys.argv[1], 'rb').read()
at = data.index(b'\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0') + 16
open(sys.argv[2], 'wb').write(data[:at] + bytes.fromhex(sys.argv[3] * 40) + data[at + 20:])
END
}
for i in 1 2 3; do build "$work/files/$i/App" $i; done
id=$(printf 'd%.0s' {1..40})
cat >"$work/log" <<END
0   App  0x0000000000011234 App + 4660
0x10000 - 0x1ffff App x86_64 <$id> /opt/App
END

# ---- another build, and dSYMs
mkdir -p "$work/files/Empty.app.dSYM/Contents/Resources" "$work/files/App.dSYM/Contents/Resources/DWARF"
printf '\xcf\xfa\xed\xfe\x0c\0\0\1\0\0\0\0\x0a\0\0\0' >"$work/files/App.dSYM/Contents/Resources/DWARF/App"
run 0 symbolize --log "$work/log" --search "$work/files"
err_has "^unspool: App $id: not found in --search; 3 other builds of App are there, none is $id: 1{40}, 2{40}, 3{40}\$"
err_has '^unspool: .*/Empty\.app\.dSYM: a dSYM bundle without its file '
err_has '^unspool: .*/App\.dSYM/Contents/Resources/DWARF/App: .*: the dSYM is cut or damaged$'
run 0 symbolize --log "$work/log" --search "$work/files" --quiet
err_is_empty
# A folder without any build.
run 0 symbolize --log "$work/log" --search "$work/files/Empty.app.dSYM"
err_has "^unspool: App $id: not found in --search\$"

# ---- -o with a bundle
mkdir "$work/App.app"
build "$work/App.app/App" 7
build "$work/App.app/Frameworks/Other" 8
address=$(nm "$stuck" | awk '$3 == "descend" {print $1}')
run 0 symbolize -o "$work/App.app" --json "$address"
out_has '"symbol": "descend"'
out_has '"build_id": "7{40}"'
run 0 symbolize -o "$work/App.app" --uuid "$(printf '8%.0s' {1..40})" --json "$address"
out_has '"image_path": "[^"]*/Other"'
cp -R "$work/App.app" "$work/Some.xcarchive"
run 2 symbolize -o "$work/Some.xcarchive" "$address"
err_has 'several builds; say which by --uuid'
err_has "  7{40} .*/App\$"
# An archive of any name stands for its application, also if there are frameworks and an application for the watch in it.
archive="$work/App 30.11.26, 10.12.xcarchive"
for bundle in App.app Mac.app; do
  rm -rf "$archive"
  program=$archive/Products/Applications/$bundle
  [[ $bundle == App.app ]] || program=$program/Contents/MacOS
  build "$program/${bundle%.app}" 7
  build "$archive/Products/Applications/$bundle/Frameworks/Other" 8
  build "$archive/Products/Applications/$bundle/Watch/Watch.app/Watch" 9
  run 0 symbolize -o "$archive" --json "$address"
  out_has '"build_id": "7{40}"'
done
# The application in an archive: the archive has its dSYM, and symbols of no other.
archive=$work/Symbols.xcarchive
program=$archive/Products/Applications/App.app/App
build "$program" 7
mkdir -p "$archive/dSYMs/App.app.dSYM/Contents/Resources/DWARF"
cp "$program" "$archive/dSYMs/App.app.dSYM/Contents/Resources/DWARF/App"
strip "$program"
for place in "$archive/Products/Applications/App.app" "$archive/Products/Applications/App.app/" "$archive/Products"; do
  [[ $place == *Products ]] || run 0 symbolize -o "$place" --json "$address"
  [[ $place == *Products ]] || out_has '"symbol": "descend"'
  echo "#00 pc $address  /App (BuildId: $(printf '7%.0s' {1..40}))" >"$work/archived"
  run 0 symbolize --log "$work/archived" --search "$place"
  out_has '\(descend\+0\)'
done
run 3 symbolize -o "$work/App.app" --uuid 1234 "$address"
err_has 'nothing in it has this UUID'

# ---- numbers in the other system
load=4294967296 # 0x100000000
at=$((16#$address + load))
run 0 symbolize -o "$stuck" -l $load $at
out_has '^descend '
err_has "^unspool: -l $load is read as a decimal number"
echo $at >"$work/addresses"
run 0 symbolize -o "$stuck" -l $load -f "$work/addresses"
out_has '^descend '
run 0 symbolize -o "$stuck" -l 0x100000000 $at
out_has '^descend '
! grep 'is read as' "$work/err" || fail "a number is read in another way without need"
# A symbol whose address has only decimal digits in hexadecimal.
read -r digits name < <(nm "$stuck" | awk '$2 ~ /[tT]/ && $1 ~ /^0+[1-9][0-9]+$/ {sub(/^0+/, "", $1); print $1, $3; exit}')
if [[ -n ${digits:-} ]]; then
  run 0 symbolize -o "$stuck" -l 0x100000000 "1$(printf '%08d' "$((10#$digits))")"
  out_has "^$name "
  err_has 'addresses are read as hexadecimal numbers'
fi
# An address that is nowhere.
run 0 symbolize -o "$stuck" 0x7f0000000000
err_has 'no address is in the image, which was linked at 0x[0-9a-f]+ - 0x[0-9a-f]+; -l gives the load address'
run 0 symbolize -o "$stuck" -l 0x200000000 0x7f0000000000
err_has 'no address is in the image, which the given base puts at 0x200000000 - '

# ---- the index of a folder
if have strace && strace -qq -o /dev/null true 2>/dev/null; then
  for i in {1..100}; do echo text >"$work/files/text$i"; done
  sleep 2.1 # files of this second are not indexed
  opened() {
    strace -qq -f -e trace=openat -o "$work/calls" "$unspool" symbolize --log "$work/log" --search "$work/files" >/dev/null 2>"$work/err"
    grep -c "files/text" "$work/calls" || true
  }
  [[ $(opened) -eq 100 ]] || fail "the first search does not open all files"
  [[ $(opened) -eq 0 ]] || fail "the second search opens files"
  err_has '3 other builds of App are there'
  echo other >"$work/files/text5"
  [[ $(opened) -eq 1 ]] || fail "a changed file is not looked at again"
  build "$work/files/text7" d
  run 0 symbolize --log "$work/log" --search "$work/files"
  ! grep 'not found' "$work/err" || fail "a changed file is not found"
  index=("$XDG_CACHE_HOME"/unspool/search/*)
  head -c 1000 "${index[0]}" >"$work/cut"
  cp "$work/cut" "${index[0]}"
  [[ $(opened) -gt 90 ]] || fail "a cut index is used"
fi
verdict
