#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs the command over a few hundred damaged inputs (mutate.py), of every kind: programs, libraries and their debug
# information, archives, symbol files, core files, raw captures, indexes, logs and reports of every format, recordings of
# perf, profiles of pprof, OTLP and unspool, dSYMs, zip archives, perf maps, dyld's shared caches, hang files, the crash
# kit's directory. Runs in the folder of the build. By hand, with more runs or a build with sanitizers:
# mutated.sh ARGUMENT... passes them on.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/../tool/common.sh"
here=$(cd "$(dirname "$0")" && pwd)
need_tools gcc objcopy python3 readelf ar strip
[[ $(uname) == Linux ]] || skip 'perf maps, wait4: Linux only'
seeds=$work/seeds
mkdir -p "$seeds"/{object,core,raw,index,log,plcrash,dsym,zip,map,cache,recording,profile,hang,crash} "$work/made"

# ---- what the suites' builders make
for program in object raw symfile macho_symbols elf_symbols go dyld_cache recording profile_file; do
  "tests/fuzz/${program}_seeds" "$work/made"
done
tests/fuzz/log_seeds "$seeds/log" --plain
cp "$work"/made/fuzz_core/* "$seeds/core"
cp "$work"/made/fuzz_raw/* "$seeds/raw"
cp "$work"/made/fuzz_dyld_cache/* "$seeds/cache"
cp "$work"/made/fuzz_recording/* "$seeds/recording"
for file in "$work"/made/fuzz_profile_file/*; do cp "$file" "$seeds/recording/profile-${file##*/}"; done
python3 -B "$here/recordings.py" "$seeds/recording/mapped"
for format in pprof otlp json; do tests/profile/profile_writer $format lines >"$seeds/profile/$format"; done
tests/profile/profile_writer json lines totals >"$seeds/profile/totals"
python3 -B "$here/../tool/plcrash.py" "$work/made"
cp "$work/made/whole.plcrash" "$seeds/plcrash"
# A recording, as its profile in each form. Without the permission to record there are the other inputs.
start "$stuck"
for form in json folded speedscope firefox; do
  "$unspool" record --quiet --duration 0.05 --format "$form" -o "$seeds/log/profile.$form" "$pid" 2>/dev/null || :
done
stop
for kind in elf macho elf_symbols macho_symbols archive symfile; do
  for file in "$work/made/fuzz_$kind"/*; do cp "$file" "$seeds/object/$kind-${file##*/}"; done
done
for file in "$work"/made/fuzz_go/program-*; do cp "$file" "$seeds/object/go-${file##*/}"; done
for file in "$work"/made/fuzz_macho_symbols/*; do cp "$file" "$seeds/dsym"; done

# ---- what compilers make
# Files that the library alone reads: a hang file, and a directory of the crash kit after two crashes.
reader=$PWD/tests/hostile/kept_files
"$reader" make "$seeds/hang/hang" || fail "no hang file"
ulimit -c 0
for way in segv abort; do
  "$PWD/tests/crash/crasher" $way "$seeds/crash" >/dev/null 2>&1 || :
done

cd "$work/made"
cat >f.c <<'END'
static inline int twice(int a) { return a * 2; }
int g(int);
int f(int a) { return g(twice(a) + 1); }
int h(int a) { return f(twice(a)); }
END
for dwarf in 3 5; do
  gcc -O2 "-gdwarf-$dwarf" -shared -fPIC -nostdlib -Wl,--build-id=sha1 -o "lib-$dwarf" f.c
done
gcc -O1 -g -gz=zlib -shared -fPIC -nostdlib -Wl,--build-id=sha1 -o lib-zlib f.c
objcopy --only-keep-debug lib-5 lib-5.debug
strip -o lib-5.stripped lib-5
gcc -O1 -g -c -ffunction-sections f.c
ar rc lib.a f.o
cp lib-* f.o lib.a "$seeds/object"
if have clang-19; then
  for target in arm64-apple-macos x86_64-apple-macos armv7-apple-ios; do
    clang-19 -target "$target" -O1 -g -c -o "$seeds/object/$target.o" f.c 2>/dev/null || rm -f "$seeds/object/$target.o"
  done
fi
if have go; then
  printf 'package main\n\nfunc main() { println("x") }\n' >main.go
  CGO_ENABLED=0 go build -o "$seeds/object/go-elf" main.go 2>/dev/null || :
  CGO_ENABLED=0 GOOS=darwin GOARCH=arm64 go build -o "$seeds/object/go-macho" main.go 2>/dev/null || :
fi
for lib in lib-3 lib-5; do
  "$unspool" index --quiet -o store "$lib"
  id=$(readelf -n "$lib" | sed -n 's/.*Build ID: //p')
  cp "store/${id:0:2}/${id:2}/index" "$seeds/index/$id.$lib"
done
mkdir -p lib.dSYM/Contents/Resources/DWARF
cp lib-5.debug lib.dSYM/Contents/Resources/DWARF/lib
python3 - "$seeds/zip/a.zip" <<'END'
import sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w", zipfile.ZIP_DEFLATED) as out:
    out.write("lib.dSYM/Contents/Resources/DWARF/lib")
    out.write("lib-5", "a/b/lib-5")
END
printf 'ADDRESS 100 first\nADDRESS 1000 second one\n%s\n' "$(printf 'ADDRESS %x f%d\n' 64 1 128 2 4096 3)" >"$seeds/map/map"
cd "$OLDPWD"

# The library that saves a new process for each run. Without it, or where it cannot be preloaded, mutate.py goes on.
served=$work/served.so
if gcc -O1 -shared -fPIC -o "$served" "$here/served.c" 2>/dev/null; then export USP_SERVED_LIBRARY=$served; fi
if [[ $# -gt 0 ]]; then
  python3 "$here/mutate.py" --reader "$reader" "$@" "${USP_MUTATED:-$unspool}" "$seeds"
  exit
fi
sanitized=()
! grep -q -- '^CFLAGS = .*-fsanitize' Makefile || sanitized=(--sanitized)
python3 "$here/mutate.py" --reader "$reader" "${sanitized[@]}" --runs 400 "$unspool" "$seeds" >"$work/said" ||
  fail "damaged inputs: $(cat "$work/said")"
python3 "$here/mutate.py" --reader "$reader" "${sanitized[@]}" --runs 60 --changing --seed 2 "$unspool" "$seeds" >"$work/said" ||
  fail "inputs that change: $(cat "$work/said")"
verdict
