#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Writes the seeds of the fuzzers: a folder for each fuzzer, below the given one. Called by tests/fuzz/build.sh.
#   tests/fuzz/seeds.sh BUILD FOLDER    BUILD: a build folder with the library and the command, made with $CC and $CFLAGS
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$(cd "${1:?usage: seeds.sh BUILD FOLDER}" && pwd) seeds=${2:?usage: seeds.sh BUILD FOLDER}
rm -rf "$seeds"
mkdir -p "$seeds"
# The libraries that configure found.
read -ra libraries <<<"$(sed -n 's/^LIBS = //p' "$build/Makefile")"

# Runs the programs that write the seeds. The repository does not contain files of these formats. They link the backends
# of all processors, as the suites do (tests/Makefile.inc).
for source in "$top"/tests/fuzz/*_seeds.c; do
  # shellcheck disable=SC2086 # flags
  $CC $CFLAGS -std=gnu11 -I"$top" -I"$top/include" -o "$seeds/program" "$source" -Wl,-u,uspi_backend_any "$build/lib/.libs/libunspool.a" "${libraries[@]}"
  "$seeds/program" "$seeds"
done
rm "$seeds/program"

# Compilers and linkers for all formats. Debian's have their version in their names. Without them the other seeds remain.
tool() { command -v "$1-19" || command -v "$1"; }
if ! { clang=$(tool clang) && ld=$(tool ld.lld) && ld64=$(tool ld64.lld) && ar=$(tool llvm-ar) && lipo=$(tool llvm-lipo) &&
  libtool=$(tool llvm-libtool-darwin) && objdump=$(tool llvm-objdump); }; then
  echo "seeds.sh: without the outputs of compilers and linkers, because LLVM's tools are not all installed" >&2
  [[ -z ${USP_REQUIRE_TOOLS-} ]] || exit 1
  exit 0
fi
# -fuse-ld takes the name after "ld.".
lld=${ld##*/ld.}

# Files with a procedure linkage table, for each processor.
mkdir -p "$seeds/fuzz_elf_symbols"
for target in x86_64-linux-gnu i386-linux-gnu aarch64-linux-gnu arm-linux-gnueabihf; do
  "$clang" "--target=$target" -Os -shared -nostdlib -fPIC "-fuse-ld=$lld" -o "$seeds/fuzz_elf_symbols/$target" \
    "$top/tests/symbolize/elf_fixture.c"
done

# Outputs of compilers and linkers for the tests' fixtures. Small ones, because most changes of a large file have no
# effect.
made=$seeds/made
fixtures=$top/tests/symbolize
mkdir -p "$made" "$seeds"/fuzz_{archive,elf,fixups,log,macho,macho_exports,macho_symbols,objc,raw}
small='int f(int a) { return a * 3; } int g(int a) { return f(a) + 1; }'
for target in x86_64-linux-gnu arm-linux-gnueabihf; do
  "$clang" "--target=$target" -Os -shared -nostdlib -fPIC "-fuse-ld=$lld" -Wl,-z,noseparate-code,--build-id=sha1 \
    -o "$seeds/fuzz_elf/$target" -x c - <<<"$small"
done
# Archives of unlinked objects, as GNU's, BSD's and Apple's tools write them.
for target in x86_64-linux-gnu arm-linux-gnueabihf arm64-apple-ios14 x86_64-apple-macos13; do
  "$clang" "--target=$target" -Os -ffunction-sections -x c -c - -o "$made/a-rather-long-name-$target.o" <<<"$small"
done
"$ar" rcD "$seeds/fuzz_archive/gnu" "$made"/*-linux-*.o
"$ar" --format=bsd rcD "$seeds/fuzz_archive/bsd" "$made"/*-linux-*.o
for target in arm64-apple-ios14 x86_64-apple-macos13; do
  "$libtool" -static -o "$made/$target.a" "$made"/*"-$target.o"
done
"$lipo" -create -output "$seeds/fuzz_archive/fat" "$made"/*.a
cp "$made"/*-linux-*.o "$seeds/fuzz_archive"

# Debug information of small libraries, and their indexes.
mkdir -p "$seeds"/fuzz_{dwarf,index}
lines='static inline __attribute__((always_inline)) int in(int a) { return a * a; }
  __attribute__((noinline)) int f(int a) { return in(a) + in(a + 1); } int g(int a) { return a > 3 ? f(a) : in(a); }'
for version in 2 4 5; do
  for flags in -O0 -O2 '-O2 -ffunction-sections'; do
    # shellcheck disable=SC2086 # words on purpose
    "$clang" $flags "-gdwarf-$version" -shared -nostdlib -fPIC "-fuse-ld=$lld" -Wl,-z,noseparate-code,--build-id=sha1 \
      -o "$seeds/fuzz_dwarf/v$version$flags" -x c - <<<"$lines"
  done
done
# Skeletons of split units, range tables, compressed sections, 8-byte offsets.
for flags in '-gdwarf-4 -gsplit-dwarf' '-gdwarf-5 -gsplit-dwarf' '-gdwarf-aranges -ffunction-sections' -gz=zlib '-gdwarf-5 -gdwarf64'; do
  # shellcheck disable=SC2086 # words on purpose
  (cd "$made" && "$clang" -O2 -g $flags -shared -nostdlib -fPIC "-fuse-ld=$lld" -Wl,-z,noseparate-code,--build-id=sha1 \
    -o "$seeds/fuzz_dwarf/${flags// /}" -x c - <<<"$lines")
done
"$clang" -target arm64-apple-ios14 -O2 -g -x c -c - -o "$seeds/fuzz_dwarf/macho" <<<"$lines"
# Call sites in both forms: tail calls by one path, by two, in a circle, by a pointer, and to another unit.
calls='#define F(name) __attribute__((noinline)) int name(int a)
  volatile int v; extern int other(int); F(x) { v = a; return a + 1; } F(y) { v = 2; return x(a); } F(z);
  F(w) { v = 3; return a > 4 ? y(a) : z(a); } F(z) { v = 4; return a > 5 ? w(a - 1) : x(a); }
  F(p) { int (*const f[])(int) = {x, y}; v = 5; return f[v & 1](a); } F(o) { v = 6; return other(a); }
  F(all) { return y(a) + w(a) + z(a) + p(a) + o(a); }'
for version in 4 5; do
  "$clang" -O1 "-gdwarf-$version" -fPIC -c -o "$made/calls.o" -x c - <<<"$calls"
  "$clang" -O1 "-gdwarf-$version" -fPIC -c -o "$made/other.o" -x c - <<<'extern int y(int); int other(int a) { return y(a + 1); }'
  "$ld" -shared -z noseparate-code --build-id=sha1 "$made/calls.o" "$made/other.o" -o "$seeds/fuzz_dwarf/calls-$version"
done
"$build/tools/unspool" index --quiet -o "$made/store" "$seeds/fuzz_dwarf" 2>/dev/null || :
for index in "$made"/store/*/*/index; do cp "$index" "$seeds/fuzz_index/$(basename "${index%/index}")"; done

# Mach-O files with both forms of fixups, and the exports alone.
target=x86_64-apple-macos13
"$clang" -target $target -Os -g -c "$fixtures/macho_fixture.S" -o "$made/macho_S.o"
"$clang" -target $target -Os -std=c++17 -fno-exceptions -c "$fixtures/macho_fixture.cc" -o "$made/macho_cc.o"
"$clang" -target $target -fblocks -O1 -w -c "$fixtures/objc_fixture.m" -o "$made/objc.o"
link_macho() { "$ld64" -arch x86_64 -platform_version macos 13.0 13.0 -dylib -undefined dynamic_lookup "$@"; }
for fixups in fixup_chains no_fixup_chains; do
  link_macho "-$fixups" "$made/macho_S.o" -o "$seeds/fuzz_macho/$fixups"
  cp "$seeds/fuzz_macho/$fixups" "$seeds/fuzz_macho_symbols"
  link_macho "-$fixups" -no_objc_relative_method_lists "$made/objc.o" "$fixtures/objc_fixture.tbd" \
    -o "$seeds/fuzz_objc/$fixups"
  cp "$seeds/fuzz_objc/$fixups" "$seeds/fuzz_fixups"
done
for objects in macho_S macho_cc objc; do
  link_macho "$made/$objects.o" "$fixtures/objc_fixture.tbd" -o "$made/$objects"
  "$objdump" --macho --private-headers "$made/$objects" |
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
# What the seeds were made of is not a seed.
rm -rf "$made"
