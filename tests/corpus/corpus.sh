#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Names and unwind tables out of Mach-O files that other people have built with Apple's tools and published: frameworks in npm packages, pinned
# by version and checksum (packages.txt). USP_CORPUS_DIR names a folder that has them already. Nothing of them is kept in the repository; they are downloaded once, to
# $XDG_CACHE_HOME/unspool or below the folder of the build, and without a network this is skipped. Each slice is compared as
# macho.sh, objc.sh (tests/symbolize) and compact.sh (tests/unwind) compare what they build: as it is, and stripped. The lines of each dSYM are
# compared with llvm-symbolizer's (tests/symbolize/lines_oracle.py). Runs in the folder of the build.
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"

names=$started_in/tests/symbolize/macho_names
methods=$started_in/tests/symbolize/objc_methods
rules=$started_in/tests/unwind/table_rules
dump=$started_in/tests/symbolize/lines_dump
cache=${XDG_CACHE_HOME:-$started_in}/${XDG_CACHE_HOME:+unspool/}corpus
[[ -x $names && -x $methods && -x $rules && -x $dump ]] || skip "tests/symbolize/macho_names was not built"
need_tools sha256sum tar llvm-lipo-19 llvm-strip-19 llvm-nm-19 llvm-objdump-19 llvm-symbolizer-19 llvm-dwarfdump-19 python3
make_work
mkdir -p "$cache"

# package NAME@VERSION SHA256: it is unpacked in $folder then.
package() {
  local archive answer
  folder=$work/${1//\//-}
  archive=$cache/$2.tgz
  # A folder with the archives under npm's names, where there is one: nothing is downloaded then.
  local given=${1#@}
  given=${USP_CORPUS_DIR-}/${given//[\/@]/-}.tgz
  if [[ -n ${USP_CORPUS_DIR-} && -f $given && ! -f $archive ]]; then cp "$given" "$archive"; fi
  if [[ ! -f $archive ]]; then
    command -v npm >/dev/null || skip "there is no npm to download $1 with, and it is not in USP_CORPUS_DIR"
    mkdir "$work/download"
    if ! answer=$(npm pack --ignore-scripts --silent --fetch-retries=1 --pack-destination "$work/download" "$1" 2>&1); then
      # npm's codes for a package that isn't there; whatever else goes wrong is the way to it.
      [[ ! $answer =~ E404|ETARGET ]] || { fail "$1: $answer" && verdict; }
      skip "$1 cannot be downloaded: ${answer%%$'\n'*}"
    fi
    mv "$work/download"/*.tgz "$archive.new"
    mv "$archive.new" "$archive"
    rmdir "$work/download"
  fi
  if ! sha256sum --status -c - <<<"$2  $archive"; then
    rm -f "$archive"
    fail "$1: has another checksum than $2"
    verdict
  fi
  mkdir "$folder"
  tar -xzf "$archive" -C "$folder"
}

# objc FILE ARCH LEAST: at least so many methods by the metadata alone. llvm-objdump is a second witness where it names any.
objc() {
  local check=()
  llvm-objdump-19 --macho --arch="$2" --objc-meta-data "$1" >"$work/meta" 2>/dev/null || :
  if grep -qE '\bimp .*[-+]\[' "$work/meta"; then check=(--objdump "$work/meta"); fi
  python3 "$top/tests/symbolize/objc_oracle.py" --names "$methods" --arch "$2" --foreign --least "$3" "${check[@]}" \
    "$1" "$1" || fail "$1 ($2): Objective-C's names differ"
}

# slice FILE ARCH LEAST [DSYM]: at least so many of the addresses that are asked have a name.
slice() {
  local thin=$work/thin/$2/${1##*/} oracle=(python3 "$top/tests/symbolize/macho_oracle.py" --names "$names" --arch "$2")
  rm -rf "$work/thin"
  mkdir -p "${thin%/*}"
  # A thin file has no slice to take out.
  llvm-lipo-19 "$1" -thin "$2" -output "$thin" 2>/dev/null || cp "$1" "$thin"
  "${oracle[@]}" --least "$3" "$1" || fail "$1 ($2): names differ"
  if [[ $(llvm-objdump-19 --section-headers "$thin") == *__unwind_info* ]]; then
    python3 -B "$top/tests/unwind/compact_oracle.py" --rules "$rules" --arch "$2" --foreign "$thin" ||
      fail "$1 ($2): unwind rules differ"
  fi
  llvm-strip-19 -o "$thin.stripped" "$thin"
  "${oracle[@]}" --twin "$thin" "$thin.stripped" || fail "$1 ($2), stripped: names differ"
  [[ -n ${4-} ]] || return 0
  python3 -B "$top/tests/symbolize/lines_oracle.py" --dump "$dump" --arch "$2" --random 10000 \
    "$4/Contents/Resources/DWARF/${1##*/}" || fail "$4 ($2): lines differ"
  # With its dSYM the stripped one has all of its names again. The bundle is found as it lies in an .xcframework.
  mkdir -p "$work/thin/bundle/${1##*/}.framework"
  cp -R "$(dirname "$4")" "$work/thin/bundle/dSYMs"
  cp "$thin.stripped" "$work/thin/bundle/${1##*/}.framework/${1##*/}"
  "$names" --starts "$thin" "$2" | "$names" "$thin" "$2" | cut -d' ' -f 1,2,4- | cut -f 1 >"$work/expected"
  cut -d' ' -f 1 "$work/expected" | "$names" "$work/thin/bundle/${1##*/}.framework/${1##*/}" "$2" |
    cut -d' ' -f 1,2,4- | cut -f 1 >"$work/given"
  echo "${1##*/} ($2): $(grep -vc ' -$' "$work/expected") functions by the dSYM"
  cmp -s "$work/expected" "$work/given" ||
    fail "$1 ($2): other names by its dSYM: $(diff "$work/expected" "$work/given" | head -n 6)"
}

# xcframeworks FOLDER LEAST: every framework of each of them, every slice, with its dSYM if there is one.
xcframeworks() {
  local framework binary dsym arch
  for framework in "$1"/*.xcframework/*/*.framework; do
    binary=$framework/$(basename "$framework" .framework)
    dsym=$(dirname "$framework")/dSYMs/$(basename "$framework").dSYM
    [[ -d $dsym ]] || dsym=
    for arch in $(llvm-lipo-19 -archs "$binary"); do
      slice "$binary" "$arch" "$2" "$dsym"
      objc "$binary" "$arch" 10
    done
  done
}

while read -r name checksum; do
  [[ $name != \#* ]] || continue
  echo "== $name"
  package "$name" "$checksum"
  case $name in
  react-native-webrtc@*)
    binary=$folder/package/ios/WebRTC.framework/WebRTC
    for arch in x86_64 i386 armv7 arm64; do
      slice "$binary" "$arch" 80000
      objc "$binary" "$arch" 900
    done
    ;;
  expo-modules-core@*)
    for kind in debug release; do
      mkdir "$folder/$kind"
      for archive in "$folder/package/prebuilds/output/$kind/xcframeworks"/*.tar.gz; do
        # GNU tar warns of each extended attribute that macOS has stored.
        tar -xzf "$archive" -C "$folder/$kind" 2>/dev/null
      done
      xcframeworks "$folder/$kind" 5000
    done
    ;;
  @nativescript/core@*) xcframeworks "$folder/package/platforms/ios" 4000 ;;
  # Dart's compiler writes Mach-O without a linker, and names without an underscore.
  sass-embedded-darwin-arm64@*)
    slice "$folder/package/dart-sass/src/sass.snapshot" arm64 30000
    slice "$folder/package/dart-sass/src/dart" arm64 1000
    ;;
  # Stripped by those who made them: what is left are exports and Objective-C.
  hermes-engine@*) for arch in x86_64 arm64; do slice "$folder/package/osx-bin/hermesc" "$arch" 600; done ;;
  tns-core-modules-widgets@*)
    binary=$folder/package/platforms/ios/TNSWidgets.framework/TNSWidgets
    for arch in i386 x86_64 armv7 arm64; do slice "$binary" "$arch" 4000; done
    ;;
  fsevents@*) for arch in x86_64 arm64; do slice "$folder/package/fsevents.node" "$arch" 4000; done ;;
  *) fail "$name: its content is not known" ;;
  esac
  rm -rf "$folder"
done <"$top/tests/corpus/packages.txt"
verdict
