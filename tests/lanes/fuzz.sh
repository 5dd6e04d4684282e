# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# About: each fuzzer in tests/fuzz with the same inputs each time; with USP_FUZZ_SECONDS for that long, with new inputs each time
need_build clang-19 libclang-rt-19-dev llvm-19 lld-19
export ASAN_SYMBOLIZER_PATH=/usr/bin/llvm-symbolizer-19

# Number of inputs for each fuzzer, which take about seven seconds.
declare -A inputs=(
  [fuzz_archive]=40000
  [fuzz_cfi]=80000
  [fuzz_compact]=33000
  [fuzz_compact_stacks]=60000
  [fuzz_core]=4000
  [fuzz_demangle]=200000
  [fuzz_dwarf]=4000
  [fuzz_ehabi]=40000
  [fuzz_elf]=67000
  [fuzz_elf_symbols]=5000
  [fuzz_fixups]=8000
  [fuzz_go]=19000
  [fuzz_index]=30000
  [fuzz_jit]=30000
  [fuzz_log]=5000
  [fuzz_macho]=67000
  [fuzz_macho_exports]=133000
  [fuzz_macho_symbols]=33000
  [fuzz_objc]=33000
  [fuzz_raw]=13000
  [fuzz_swift]=100000
  [fuzz_symfile]=40000
  [fuzz_unwind]=5000
)
sanitizers=address,undefined
configure_in fuzz CC=clang-19 --disable-shared \
  "CFLAGS=-O1 -g -fsanitize=fuzzer-no-link,$sanitizers -fno-sanitize-recover=all"
make_in fuzz all

# The libraries that configure found.
read -ra libraries <<<"$(sed -n 's/^LIBS = //p' "$top/build/fuzz/Makefile")"

# link PROGRAM SOURCE FLAG...: compiles without make, because only clang has libFuzzer.
link() {
  local program=$1 source=$2
  shift 2
  clang-19 -std=gnu11 -O1 -g "$@" -fno-sanitize-recover=all -I"$top" -I"$top/include" -o "$program" "$source" \
    "$top/build/fuzz/lib/.libs/libunspool.a" "${libraries[@]}"
}

# Runs the programs that write the seeds, a folder for each fuzzer. The repository does not contain files of these
# formats.
seeds=$top/build/fuzz/seeds
rm -rf "$seeds"
mkdir -p "$seeds"
for source in "$top"/tests/fuzz/*_seeds.c; do
  link "$seeds/program" "$source" "-fsanitize=$sanitizers"
  "$seeds/program" "$seeds"
done

# Files with a procedure linkage table, for each processor.
mkdir -p "$seeds/fuzz_elf_symbols"
for target in x86_64-linux-gnu i386-linux-gnu aarch64-linux-gnu arm-linux-gnueabihf; do
  clang-19 "--target=$target" -Os -shared -nostdlib -fPIC -fuse-ld=lld-19 -o "$seeds/fuzz_elf_symbols/$target" \
    "$top/tests/symbolize/elf_fixture.c"
done

# Outputs of compilers and linkers for the tests' fixtures. Small ones, because most changes of a large file have no
# effect.
made=$seeds/made
fixtures=$top/tests/symbolize
mkdir -p "$made" "$seeds"/fuzz_{archive,elf,fixups,log,macho,macho_exports,macho_symbols,objc,raw}
small='int f(int a) { return a * 3; } int g(int a) { return f(a) + 1; }'
for target in x86_64-linux-gnu arm-linux-gnueabihf; do
  clang-19 "--target=$target" -Os -shared -nostdlib -fPIC -fuse-ld=lld-19 -Wl,-z,noseparate-code,--build-id=sha1 \
    -o "$seeds/fuzz_elf/$target" -x c - <<<"$small"
done
# Archives of unlinked objects, as GNU's, BSD's and Apple's tools write them.
for target in x86_64-linux-gnu arm-linux-gnueabihf arm64-apple-ios14 x86_64-apple-macos13; do
  clang-19 "--target=$target" -Os -ffunction-sections -x c -c - -o "$made/a-rather-long-name-$target.o" <<<"$small"
done
llvm-ar-19 rcD "$seeds/fuzz_archive/gnu" "$made"/*-linux-*.o
llvm-ar-19 --format=bsd rcD "$seeds/fuzz_archive/bsd" "$made"/*-linux-*.o
for target in arm64-apple-ios14 x86_64-apple-macos13; do
  llvm-libtool-darwin-19 -static -o "$made/$target.a" "$made"/*"-$target.o"
done
llvm-lipo-19 -create -output "$seeds/fuzz_archive/fat" "$made"/*.a
cp "$made"/*-linux-*.o "$seeds/fuzz_archive"

# Debug information of small libraries, and their indexes.
mkdir -p "$seeds"/fuzz_{dwarf,index}
lines='static inline __attribute__((always_inline)) int in(int a) { return a * a; }
  __attribute__((noinline)) int f(int a) { return in(a) + in(a + 1); } int g(int a) { return a > 3 ? f(a) : in(a); }'
for version in 2 4 5; do
  for flags in -O0 -O2 '-O2 -ffunction-sections'; do
    # shellcheck disable=SC2086 # words on purpose
    clang-19 $flags "-gdwarf-$version" -shared -nostdlib -fPIC -fuse-ld=lld-19 -Wl,-z,noseparate-code,--build-id=sha1 \
      -o "$seeds/fuzz_dwarf/v$version$flags" -x c - <<<"$lines"
  done
done
# Skeletons of split units, range tables, compressed sections, 8-byte offsets.
for flags in '-gdwarf-4 -gsplit-dwarf' '-gdwarf-5 -gsplit-dwarf' '-gdwarf-aranges -ffunction-sections' -gz=zlib '-gdwarf-5 -gdwarf64'; do
  # shellcheck disable=SC2086 # words on purpose
  (cd "$made" && clang-19 -O2 -g $flags -shared -nostdlib -fPIC -fuse-ld=lld-19 -Wl,-z,noseparate-code,--build-id=sha1 \
    -o "$seeds/fuzz_dwarf/${flags// /}" -x c - <<<"$lines")
done
clang-19 -target arm64-apple-ios14 -O2 -g -x c -c - -o "$seeds/fuzz_dwarf/macho" <<<"$lines"
# Call sites in both forms: tail calls by one path, by two, in a circle, by a pointer, and to another unit.
calls='#define F(name) __attribute__((noinline)) int name(int a)
  volatile int v; extern int other(int); F(x) { v = a; return a + 1; } F(y) { v = 2; return x(a); } F(z);
  F(w) { v = 3; return a > 4 ? y(a) : z(a); } F(z) { v = 4; return a > 5 ? w(a - 1) : x(a); }
  F(p) { int (*const f[])(int) = {x, y}; v = 5; return f[v & 1](a); } F(o) { v = 6; return other(a); }
  F(all) { return y(a) + w(a) + z(a) + p(a) + o(a); }'
for version in 4 5; do
  clang-19 -O1 "-gdwarf-$version" -fPIC -c -o "$made/calls.o" -x c - <<<"$calls"
  clang-19 -O1 "-gdwarf-$version" -fPIC -c -o "$made/other.o" -x c - <<<'extern int y(int); int other(int a) { return y(a + 1); }'
  ld.lld-19 -shared -z noseparate-code --build-id=sha1 "$made/calls.o" "$made/other.o" -o "$seeds/fuzz_dwarf/calls-$version"
done
"$top/build/fuzz/tools/unspool" index --quiet -o "$made/store" "$seeds/fuzz_dwarf" 2>/dev/null || :
for index in "$made"/store/*/*/index; do cp "$index" "$seeds/fuzz_index/$(basename "${index%/index}")"; done

# Mach-O files with both forms of fixups, and the exports alone.
target=x86_64-apple-macos13
clang-19 -target $target -Os -g -c "$fixtures/macho_fixture.S" -o "$made/macho_S.o"
clang-19 -target $target -Os -std=c++17 -fno-exceptions -c "$fixtures/macho_fixture.cc" -o "$made/macho_cc.o"
clang-19 -target $target -fblocks -O1 -w -c "$fixtures/objc_fixture.m" -o "$made/objc.o"
link_macho() { ld64.lld-19 -arch x86_64 -platform_version macos 13.0 13.0 -dylib -undefined dynamic_lookup "$@"; }
for fixups in fixup_chains no_fixup_chains; do
  link_macho "-$fixups" "$made/macho_S.o" -o "$seeds/fuzz_macho/$fixups"
  cp "$seeds/fuzz_macho/$fixups" "$seeds/fuzz_macho_symbols"
  link_macho "-$fixups" -no_objc_relative_method_lists "$made/objc.o" "$fixtures/objc_fixture.tbd" \
    -o "$seeds/fuzz_objc/$fixups"
  cp "$seeds/fuzz_objc/$fixups" "$seeds/fuzz_fixups"
done
for objects in macho_S macho_cc objc; do
  link_macho "$made/$objects.o" "$fixtures/objc_fixture.tbd" -o "$made/$objects"
  llvm-objdump-19 --macho --private-headers "$made/$objects" |
    awk '$2 == "LC_DYLD_EXPORTS_TRIE" { on = 1 } on && $1 == "dataoff" { at = $2 } on && $1 == "datasize" { print at, $2; on = 0 }' \
      >"$made/exports"
  read -r at size <"$made/exports"
  [[ $size -gt 0 ]]
  tail -c "+$((at + 1))" "$made/$objects" | head -c "$size" >"$made/trie" || true
  cp "$made/trie" "$seeds/fuzz_macho_exports/$objects"
done

# Swift names: in the list, each name begins a line, and its demangled texts are indented.
mkdir -p "$seeds/fuzz_swift"
grep -vE '^( |#)' "$top/tests/demangle/swift_names.txt" | (cd "$seeds/fuzz_swift" && awk '{ printf "%s", $0 >NR; close(NR) }')

# A raw capture that a program wrote of itself, and the same in the styles of logs. A byte before each selects the mode
# of fuzz_log. Its addresses differ each time.
add_captures() {
  local style mode
  make_in fuzz tests/tool/captures_itself >/dev/null
  "$top/build/fuzz/tests/tool/captures_itself" "$seeds/fuzz_raw/program" >/dev/null
  for style in call-stack-symbols backtrace-symbols bs-backtrace crash-report portable; do
    for mode in '\1' '\4'; do
      {
        # shellcheck disable=SC2059 # an escape on purpose
        printf "$mode"
        "$top/build/fuzz/tools/unspool" stack --no-symbols --style "$style" "$seeds/fuzz_raw/program"
      } >"$seeds/fuzz_log/$style${mode#?}"
    done
  done
}
[[ -z ${USP_FUZZ_SECONDS-} ]] || add_captures

# run NAME: runs a fuzzer. The inputs that it found interesting are kept for the next run, unless all runs are to be the
# same.
run() {
  local fuzzer=$1 executed limits
  local own=$top/build/fuzz/$fuzzer.run
  if [[ -n ${USP_FUZZ_SECONDS-} ]]; then
    limits="-max_total_time=$USP_FUZZ_SECONDS"
  else
    limits="-runs=${inputs[$fuzzer]:?how many inputs is not said} -seed=1"
    rm -rf "$own/corpus"
  fi
  mkdir -p "$own/corpus" "$own/artifacts" "$seeds/$fuzzer"
  [[ ! -f $top/tests/fuzz/${fuzzer#fuzz_}.dict ]] || limits+=" -dict=$top/tests/fuzz/${fuzzer#fuzz_}.dict"
  link "$own/$fuzzer" "$top/tests/fuzz/$fuzzer.c" "-fsanitize=fuzzer,$sanitizers" \
    -Wl,--wrap=LLVMFuzzerTestOneInput "$top/tests/fuzz/memory_bound.c"
  # shellcheck disable=SC2086 # words on purpose
  if ! "$own/$fuzzer" $limits -timeout=60 -rss_limit_mb=2048 -print_final_stats=1 \
    -artifact_prefix="$own/artifacts/" "$own/corpus" "$seeds/$fuzzer" >"$own/log" 2>&1; then
    tail -n 60 "$own/log"
    echo "$fuzzer failed; its input is in $own/artifacts, in base64:"
    base64 "$own"/artifacts/*
    return 1
  fi
  executed=$(sed -n 's/^stat::number_of_executed_units: *//p' "$own/log")
  echo "$fuzzer: ${executed:-0} inputs, from $(find "$seeds/$fuzzer" -type f | wc -l) seeds on; $(sed -n 's/^Done .* in //p' "$own/log")"
  [[ ${executed:-0} -gt 0 ]]
}

for source in "$top"/tests/fuzz/fuzz_*.c; do beside run "$(basename "$source" .c)"; done
beside_ended
