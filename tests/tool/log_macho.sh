#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests `unspool symbolize --log` with output of Apple's systems: crash reports as text and as JSON, callStackSymbols
# and BSBacktraceLogger in logs, by dSYMs, programs and fat files. log_reports.py makes the reports and the expected
# results.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/common.sh"
need_tools clang-19 ld64.lld-19 llvm-lipo-19 llvm-strip-19 dsymutil-19 llvm-nm-19 llvm-objdump-19 llvm-cxxfilt-19 \
  python3
fixtures=$top/tests/symbolize
cat >"$work/libraries.tbd" <<'END_TBD'
--- !tapi-tbd
tbd-version: 4
targets: [ arm64-ios, x86_64-macos ]
install-name: '/usr/lib/libSystem.B.dylib'
exports:
  - targets: [ arm64-ios, x86_64-macos ]
    symbols: [ _outside, _outside_2, dyld_stub_binder, __ZTVN10__cxxabiv117__class_type_infoE,
               __ZTVN10__cxxabiv120__si_class_type_infoE ]
...
END_TBD
# A sample reads a report of text and one of JSON in every way for one processor, and all reports by dSYMs.
note_sample
program='My App'
library=ALibraryWhoseNameDoesNotFitInTheColumn

# build ARCH TARGET PLATFORM VERSION: makes a program and a library in ARCH/linked; dSYMs, stripped files and another
# build beside them.
build() {
  local arch=$1 target=$2 platform=$3 version=$4 folder=$work/$1
  mkdir -p "$folder"/{linked,dsyms,stripped,other}
  clang-19 -target "$target" -g -O1 -c "$fixtures/macho_fixture.c" -o "$folder/c.o"
  clang-19 -target "$target" -g -O1 -std=c++17 -fno-exceptions -c "$fixtures/macho_fixture.cc" -o "$folder/cc.o"
  clang-19 -target "$target" -c "$fixtures/macho_fixture.S" -o "$folder/s.o"
  local link=(ld64.lld-19 -arch "$arch" -platform_version "$platform" "$version" "$version" "$folder"/{c,cc,s}.o
    "$work/libraries.tbd")
  "${link[@]}" -o "$folder/linked/$program"
  "${link[@]}" -dylib -o "$folder/linked/$library"
  "${link[@]}" -no_function_starts -o "$folder/other/$program"
  for file in "$program" "$library"; do
    dsymutil-19 "$folder/linked/$file" -o "$folder/dsyms/$file.dSYM"
    llvm-strip-19 -o "$folder/stripped/$file" "$folder/linked/$file"
  done
}

# rewrite LOG ARGUMENT...: symbolicates a log; the result is in $work/out.
rewrite() {
  local log=$1
  shift
  run 0 symbolize --log "$log" "$@"
  without_lines
}

# without_lines: removes source lines and inlined calls from $work/out, because the expected results have none.
lines=0
without_lines() {
  lines=$((lines + $(grep -caE 'macho_fixture\.[a-z]+(:|",)' "$work/out" || true)))
  sed -i -E '/ \[inlined\] \(macho_fixture/d; s/ \(macho_fixture\.[a-z]+:[0-9]+\)//; s/ *"source(File|Line)": ?("[^"]*"|[0-9]+),?//g' "$work/out"
}
expect() { cmp -s "$work/out" "$1" || fail "$2: differs: $(diff -a "$1" "$work/out" | head -n 6)"; }

reports=(crash crash-dos log log-after ips)
check_arch() {
  local arch=$1 folder=$work/$1 report
  python3 "$top/tests/tool/log_reports.py" "$folder" "$arch" "$folder/linked/$program" "$folder/linked/$library"
  run 0 index --quiet -o "$folder/indexes" "$folder/dsyms"
  for report in "${reports[@]}"; do
    ! cmp -s "$folder/$report.in" "$folder/$report.named" || fail "$report: nothing to be named"
    rewrite "$folder/$report.in" --search "$folder/dsyms"
    expect "$folder/$report.named" "$arch $report by dSYMs"
    # The message comes once, however many frames the image has.
    [[ $(grep -c '^unspool: libmissing.dylib 6C0A5E4D-0000-3E8B-9B0C-AAAAAAAAAAAA: not found' "$work/err") -eq 1 ]] ||
      fail "$report: $(cat "$work/err")"
    [[ $(wc -l <"$work/err") -eq 2 ]] || fail "$report: $(cat "$work/err")"
    err_has "^unspool: .*: [0-9]+ frames, [0-9]+ symbolicated, "
    is_full_size || [[ $arch == arm64 && $report =~ ^(crash|ips)$ ]] || continue
    rewrite "$folder/$report.in" --search "$folder/linked" --search "$folder/stripped"
    expect "$folder/$report.named" "$arch $report by programs"
    rewrite "$folder/$report.in" --search "$folder/stripped" --search "$folder/dsyms" --search "$folder/other"
    expect "$folder/$report.named" "$arch $report by stripped programs and dSYMs"
    # From a pipe; the result is symbolicated again, which must change nothing.
    "$unspool" symbolize --log - --search "$folder/dsyms" < <(cat "$folder/$report.in") >"$work/out" 2>"$work/err"
    without_lines
    expect "$folder/$report.named" "$arch $report from a pipe"
    rewrite "$folder/$report.named" --search "$folder/linked"
    expect "$folder/$report.named" "$arch $report named twice"
    # By indexes only, without the files.
    rewrite "$folder/$report.in" --index "$folder/indexes"
    expect "$folder/$report.named" "$arch $report by indexes alone"
    err_has '^unspool: libmissing.dylib [0-9A-F-]{36}: has no index$'
    # Another build of the program under the same name.
    rewrite "$folder/$report.in" --search "$folder/other"
    expect "$folder/$report.in" "$arch $report by another build"
    err_has "^unspool: $program [0-9A-F-]{36}: not found in --search(;|\$)"
  done
  # The list of images comes from another file.
  rewrite "$folder/bare.in" --search "$folder/dsyms" --binary-images "$folder/images"
  expect "$folder/bare.named" "$arch, with --binary-images"
  rewrite "$folder/bare.in" --search "$folder/dsyms" --binary-images "$folder/ips.in"
  expect "$folder/bare.named" "$arch, with --binary-images of JSON"
  # Mangled names.
  mkdir -p "$folder/mangled"
  python3 "$top/tests/tool/log_reports.py" --mangled "$folder/mangled" "$arch" "$folder/linked/$program" \
    "$folder/linked/$library"
  ! cmp -s "$folder/crash.named" "$folder/mangled/crash.named" || fail "no mangled names"
  rewrite "$folder/mangled/crash.in" --search "$folder/dsyms" --demangle no
  expect "$folder/mangled/crash.named" "$arch, --demangle no"
}

build arm64 arm64-apple-ios16 ios 16.0
build x86_64 x86_64-apple-macos13 macos 13.0
check_arch arm64
check_arch x86_64

[[ $lines -gt 100 ]] || fail "only $lines lines of text have source lines"

# One file for both processors.
mkdir "$work/fat"
for file in "$program" "$library"; do
  llvm-lipo-19 -create -output "$work/fat/$file" "$work/arm64/linked/$file" "$work/x86_64/linked/$file"
done
for arch in arm64 x86_64; do
  rewrite "$work/$arch/crash.in" --search "$work/fat"
  expect "$work/$arch/crash.named" "$arch in a fat file"
done

# The log does not give the build. The only one of that name is used, with a message; if there are several, none is
# used.
line=$(grep -m 1 " $program + " "$work/arm64/bare.in")
echo "$line" >"$work/line"
rewrite "$work/line" --search "$work/arm64/dsyms"
out_lacks " $program \\+ "
err_has "^unspool: $program [0-9A-F-]{36}: the log does not tell its UUID; taken is the only build of that name, "
rewrite "$work/line" --search "$work/fat"
expect "$work/line" "one of two builds"
err_has "^unspool: $program: the log does not tell its UUID, and --search has several builds of that name\$"
rewrite "$work/line" --search "$fixtures"
expect "$work/line" "no file"
err_has "^unspool: $program: the log does not tell its UUID, and nothing in --search has that name\$"

# If the images are known, a log is symbolicated line by line as it comes.
coproc follow { "$unspool" symbolize --log - --search "$work/arm64/dsyms" --binary-images "$work/arm64/images"; }
# shellcheck disable=SC2154 # set by coproc
running+=("$follow_PID")
first=$(head -n 2 "$work/arm64/bare.in" | tail -n 1)
echo "$first" >&"${follow[1]}"
read -r -t 60 named <&"${follow[0]}" || fail "nothing comes out before the end"
named=$(sed -E 's/ \(macho_fixture\.[a-z]+:[0-9]+\)$//' <<<"$named")
[[ $named == "$(head -n 2 "$work/arm64/bare.named" | tail -n 1 | sed 's/^\t//')" ]] || fail "followed: $named"

# A report that is invalid JSON or cut off must come out unchanged, with a message that gives the reason.
refuse() {
  run 3 symbolize --log "$work/damaged.ips" --search "$work/arm64/dsyms"
  expect "$work/damaged.ips" "$1"
  err_has '^unspool: .*/damaged.ips: offset 0x[0-9a-f]+: '
}
head -c 2000 "$work/arm64/ips.in" >"$work/damaged.ips"
refuse "cut off"
tr , ';' <"$work/arm64/ips.in" >"$work/damaged.ips"
refuse "without commas"
sed 's/"frames"/frames/' "$work/arm64/ips.in" >"$work/damaged.ips"
refuse "without quotes"
{
  echo '{"bug_type":"309"}'
  head -c 200000 /dev/zero | tr '\0' '['
} >"$work/damaged.ips"
refuse "nested deeply"

python3 - "$work/arm64/ips.in" "$work/arm64/ips.named" <<'END_PYTHON' || fail "the report is not JSON any more"
import json, sys
before, after = ([json.loads(line) for line in open(path, encoding="utf-8").read().split("\n", 1)] for path in sys.argv[1:])
assert before[0] == after[0] and before[1]["usedImages"] == after[1]["usedImages"]
END_PYTHON
verdict
