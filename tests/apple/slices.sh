#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests tools/build-apple with the stand-in xcrun and SDK: every slice compiles without a warning, and an app can use
# the result. The result is in build/apple. With
#   --processors       builds one slice for each processor. Or, with
#   --headers FOLDER   only compiles every slice, with Apple's own headers (the usr/include of a macOS SDK),
#                      if you have them; not in CI.
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
export PATH=$top/tests/apple:$PATH
need_tools clang-19 ld64.lld-19 ld64.lld.darwinold-13 llvm-nm-19 llvm-lipo-19 python3
make_work
out=$top/build/apple
all=$("$top/tools/build-apple" --old --list)
list=$all some=()

# compiler SLICE: sets cc to the compiler command with which build-apple configures the slice.
compiler() {
  local words
  words=$(sed -n "s/^CC = //p" "$top/build/apple-$1/Makefile")
  read -ra cc <<<"$words"
}

# ---- with Apple's own headers
compile_with_headers() {
  local headers=$1 slice target flags warnings sources
  # A macOS SDK's header gives macOS as the platform for every target.
  mkdir "$work/platform" "$work/config"
  cp "$top/tests/apple/sdk/usr/include/TargetConditionals.h" "$work/platform"
  # An empty configuration, as configure makes it on an Apple system without further libraries.
  : >"$work/config/config.h"
  # The project's flags (m4/usp_flags.m4).
  flags=(-std=gnu11 -O1 -fvisibility=hidden -fno-omit-frame-pointer -Werror)
  read -ra warnings < <(tr '\n' ' ' <"$top/m4/usp_flags.m4" | grep -oE -- '-Wall[^]]*-Wwrite-strings')
  [[ ${#warnings[@]} -gt 5 ]] || fail "m4/usp_flags.m4 lists no warnings"
  flags+=("${warnings[@]}" -I"$top" -I"$top/include" -I"$work/config")
  mapfile -t sources < <(code arch lib | grep '\.c$' | grep -vE '^lib/os/(linux/.*|none)\.c$')
  while read -r slice target; do
    (cd "$top" && clang-19 -target "$target" -isystem "$work/platform" -isystem "$headers" "${flags[@]}" \
      -fsyntax-only "${sources[@]}") || fail "$slice: does not compile"
    echo "$slice: ${#sources[@]} files"
  done < <(apple_targets)
}
processors=''
case ${1-} in
--processors) processors=1 ;;
--headers)
  compile_with_headers "$(cd "${2:?--headers needs a folder}" && pwd)"
  verdict
  ;;
'') ;;
*) echo "usage: ${0##*/} [--processors | --headers FOLDER]" >&2 && exit 2 ;;
esac

# ---- at least one slice for each of Apple's platforms, and for its simulator
groups=$(awk '{ sub(/-[^-]*$/, "", $1); print $1 }' <<<"$all" | sort -u | xargs)
[[ $groups == 'ios ios-simulator maccatalyst macos tvos tvos-simulator visionos visionos-simulator watchos watchos-simulator' ]] ||
  fail "build-apple: lists slices for $groups"

# ---- messages of the command for wrong arguments
# says STATUS TEXT ARGUMENT...: checks that the command ends with this status and prints this text.
says() {
  local expected=$1 text=$2 status=0
  shift 2
  "$top/tools/build-apple" --output "$work/said" "$@" >"$work/says" 2>&1 </dev/null || status=$?
  [[ $status -eq $expected ]] || fail "build-apple $*: status $status, not $expected"
  grep -qF -e "$text" "$work/says" || fail "build-apple $*: does not say \"$text\""
}
says 2 'no slice "ios-ppc"; there are: ios-arm64 ' --slice ios-ppc
says 2 '--slice needs a name' --slice
says 2 '--output needs a folder' --output
says 2 'like ios=15.0' --min-version 15.0
says 2 'no platform "bsd"' --min-version bsd=1.0
says 2 'what is "ios-arm64"?' ios-arm64
says 2 '--list lists all slices' --list --slice ios-arm64
says 0 'usage: tools/build-apple' --help
says 1 'ios-armv7: 12.0 is later than the last system for armv7' --slice ios-armv7 --min-version ios=12.0
export USP_SDK_LACKS='armv7 i386'
says 1 'ios-armv7: the SDK iphoneos does not build it' --slice ios-armv7
# A slice of the macOS SDK that has a platform of its own.
USP_SDK_LACKS=x86_64
says 1 'maccatalyst-x86_64: the SDK macosx does not build it' --slice maccatalyst-x86_64 --min-version maccatalyst=15.0
USP_SDK_LACKS=$(awk '{ print $3 }' <<<"$all" | tr '\n' ' ')
says 1 'none of the installed SDKs builds any slice' --old
[[ $(grep -c ': left out, ' "$work/says") -eq $(wc -l <<<"$all") ]] || fail "build-apple: not a line for each slice left out"
unset USP_SDK_LACKS
PATH=/usr/bin:/bin says 1 'no xcrun'

# ---- the oldest systems: the default, an older one that is asked for, and the oldest that a slice can be for
# versions ARGUMENT...: prints the versions of some slices in the list.
versions() {
  "$top/tools/build-apple" --list "$@" | awk '$1 ~ /^(ios-armv7|ios-arm64e?|macos-(arm64|x86_64)|watchos-arm64)$/ { print $1 "=" $4 }' | xargs
}
found=$(versions)
[[ $found == 'ios-arm64=15.0 ios-arm64e=15.0 watchos-arm64=26.0 macos-arm64=12.0 macos-x86_64=12.0' ]] ||
  fail "build-apple: the oldest systems are $found"
found=$(versions --old --min-version ios=12.0 --min-version macos=11.5 --min-version macos=10.15)
[[ $found == 'ios-arm64=12.0 ios-arm64e=14.0 ios-armv7=12.0 watchos-arm64=26.0 macos-arm64=11.0 macos-x86_64=10.15' ]] ||
  fail "build-apple --min-version: the oldest systems are $found"
diff <("$top/tools/build-apple" --list | awk '{ print $1 }') <(awk '$3 !~ /^(armv7k?|i386)$/ { print $1 }' <<<"$all") ||
  fail "build-apple: the slices without --old"

# ---- all slices
# Optimization changes which functions of libSystem are called, but no warning of clang's. Xcode's Debug builds define
# DEBUG: no name of the library may be the same.
# watchos-arm64_32 is built further down.
if [[ -n $processors ]]; then
  list=$(grep -E '^(ios-arm64|ios-arm64e|ios-armv7|ios-simulator-i386|macos-x86_64|watchos-armv7k) ' <<<"$all")
elif [[ -n ${USP_TEST_PART-} ]]; then
  left_out='ios-simulator-(arm64|x86_64)|maccatalyst-arm64|watchos-(arm64|arm64_32|simulator-.*)'
  left_out+='|macos-arm64|tvos-(arm64|simulator-x86_64)|visionos-.*'
  list=$(grep -vE "^($left_out) " <<<"$all")
fi
if [[ $list != "$all" ]]; then
  while read -r slice _; do some+=(--slice "$slice"); done <<<"$list"
fi
arguments=(--enable-werror CPPFLAGS=-DDEBUG=1 CFLAGS="${USP_APPLE_CFLAGS--O1}")
"$top/tools/build-apple" "${some[@]}" --old --output "$out" -- "${arguments[@]}"

NM=llvm-nm-19 "$top/tests/source/check-layers.sh" "$top/build/apple-ios-arm64" || fail "ios-arm64: the layers"

# The exports of a public release, in Apple's spelling.
sed -nE 's/^ *(usp_[a-z0-9_]+);.*/_\1/p' "$top/lib/unspool.map" | sort >"$work/public"
[[ -s $work/public ]] || fail "lib/unspool.map names nothing"

# processor_of FILE: prints cputype and cpusubtype of each object in it, one line if all agree. expected_processor
# prints the right ones (mach/machine.h). arm64e's may have a version of its ABI in the upper byte.
processor_of() { llvm-otool-19 -h "$1" | awk '$1 ~ /^0xfeedfac/ { print $2, $3 }' | sort -u; }
expected_processor() {
  case $1 in
  arm64) echo 16777228 0 ;;
  arm64e) echo 16777228 2 ;;
  arm64_32) echo 33554444 1 ;;
  armv7) echo 12 9 ;;
  armv7k) echo 12 12 ;;
  x86_64) echo 16777223 3 ;;
  i386) echo 7 3 ;;
  esac
}

# version_of FILE: prints platform and oldest system of each object in it, as "platform minos" (loader.h,
# LC_BUILD_VERSION) or "command version" (the older LC_VERSION_MIN_...); one line if all agree.
version_of() {
  llvm-otool-19 -l "$1" | awk '$1 == "cmd" { command = $2 }
    command == "LC_BUILD_VERSION" && $1 == "platform" { platform = $2 }
    command == "LC_BUILD_VERSION" && $1 == "minos" { print platform, $2 }
    command ~ /^LC_VERSION_MIN_/ && $1 == "version" { print command, $2 }' | sort -u
}
# Prints the right ones: numbers of platforms from loader.h. Before iOS 12, watchOS 5 and macOS 10.14 there was only the
# older command (ld64's release notes for Xcode 10).
expected_version() {
  case $1 in
  ios-armv7 | ios-simulator-i386) echo "LC_VERSION_MIN_IPHONEOS $2" ;;
  watchos-armv7k) echo "LC_VERSION_MIN_WATCHOS $2" ;;
  macos-*) echo "1 $2" ;;
  ios-simulator-*) echo "7 $2" ;;
  tvos-simulator-*) echo "8 $2" ;;
  watchos-simulator-*) echo "9 $2" ;;
  visionos-simulator-*) echo "12 $2" ;;
  maccatalyst-*) echo "6 $2" ;;
  ios-*) echo "2 $2" ;;
  tvos-*) echo "3 $2" ;;
  watchos-*) echo "4 $2" ;;
  visionos-*) echo "11 $2" ;;
  esac
}

# Functions that the App Store rejects, or that do not exist: the library must neither call them nor look them up by
# name.
private='_dyld_stack_range|_dyld_get_shared_cache_uuid|_dyld_get_image_uuid|_dyld_process_info|_os_alloc_once_table'
private+='|dispatch_queue_offsets|pthread_layout_offsets|thread_stack_pcs'

# required_reason SYMBOL: prints the category of a function that needs a reason in the privacy manifest (Apple,
# "Describing use of required reason API").
required_reason() {
  # Without macOS's suffix for the present layout of struct stat.
  case ${1%%\$*} in
  _stat | _fstat | _lstat | _fstatat | _getattrlist | _fgetattrlist | _getattrlistat | _getattrlistbulk) echo FileTimestamp ;;
  _mach_absolute_time) echo SystemBootTime ;;
  _statfs | _statvfs | _fstatfs | _fstatvfs) echo DiskSpace ;;
  esac
}

# The exports of the Objective-C layer: its public classes, and what its headers declare besides.
# shellcheck disable=SC2016 # the dollar signs are in the names
cat "$top"/include/unspool-objc/*.h | sed -nE 's/ USP_AVAILABLE;/;/
  s/^@interface ([A-Za-z]+) : .*/_OBJC_CLASS_$_\1\n_OBJC_METACLASS_$_\1/p
  s/^USP_EXPORT .*[ *]([A-Za-z]+)( *\(.*)?;.*/_\1/p' | sort >"$work/layer-public"
[[ $(wc -l <"$work/layer-public") -gt 3 ]] || fail "include/unspool-objc declares no classes"

# The libraries that a library may need: itself, and these.
libraries='@rpath/libunspool\.dylib|/usr/lib/libSystem\.B\.dylib'
layer_libraries="@rpath/libunspool-objc\\.dylib|$libraries|/usr/lib/libobjc\\.A\\.dylib"
layer_libraries+='|/System/Library/Frameworks/(Core)?Foundation\.framework/(Core)?Foundation'

# check_linked SLICE DYLIB NAME VERSION LIBRARIES EXPORTED: checks an image's own name, the libraries that it needs, its
# oldest system, and that it exports exactly the lines of EXPORTED.
check_linked() {
  local found
  llvm-nm-19 -gUj "$2" | sort >"$work/exported"
  diff "$6" "$work/exported" >"$work/diff" || fail "$1: $3 does not export just what is public: $(cat "$work/diff")"
  found=$(version_of "$2" | awk '{ print $2 }')
  [[ $found == "$4" ]] || fail "$1: $3 is linked for $found, not $4"
  found=$(llvm-otool-19 -D "$2" | tail -n 1)
  [[ $found == "@rpath/$3" ]] || fail "$1: $3 is named $found"
  found=$(llvm-otool-19 -L "$2" | awk '/^\t/ { print $1 }' | grep -vxE "$5" || :)
  [[ -z $found ]] || fail "$1: $3 needs $found"
}

# check_layer SLICE ARCH VERSION DYLIB: checks libunspool-objc of the slice; DYLIB is libunspool's.
check_layer() {
  local slice=$1 arch=$2 version=$3 with=$4 found
  local library=$out/slices/$slice/lib/libunspool-objc.a include=$out/slices/$slice/include dylib=$work/$slice-objc.dylib
  [[ -f $library ]] || {
    fail "$slice: no libunspool-objc"
    return
  }
  found=$(processor_of "$library")
  [[ $found == "$(expected_processor "$arch")" ]] || fail "$slice: the layer's objects are of the processors $found"
  found=$(version_of "$library")
  [[ $found == "$(expected_version "$slice" "$version")" ]] || fail "$slice: the layer says $found, not $version"
  # The layer uses only public functions of libunspool, so libunspool can be another image.
  llvm-nm-19 --quiet -jU "$library" | grep '^_' | sort -u >"$work/defined"
  llvm-nm-19 --quiet -ju "$library" | grep '^_usp' | sort -u | comm -23 - "$work/defined" >"$work/taken"
  [[ -s $work/taken ]] || fail "$slice: the layer calls nothing of libunspool"
  found=$(comm -23 "$work/taken" "$work/public")
  [[ -z $found ]] || fail "$slice: the layer calls what is not public: $found"
  # No linker on Linux can make these images (see xcrun), so there is no image of libunspool to link with.
  case $arch in armv7 | armv7k | i386) with=$out/slices/$slice/lib/libunspool.a ;; esac
  if ! "${cc[@]}" -dynamiclib -Wl,-all_load -install_name @rpath/libunspool-objc.dylib -o "$dylib" "$library" "$with" \
    -framework Foundation 2>"$work/link"; then
    fail "$slice: the layer does not link: $(head -n 5 "$work/link")"
    return
  fi
  [[ ! -s $work/link ]] || fail "$slice: with the layer the linker says $(head -n 3 "$work/link")"
  case $arch in
  armv7 | armv7k | i386) ;;
  *)
    check_linked "$slice" "$dylib" libunspool-objc.dylib "$version" "$layer_libraries" "$work/layer-public"
    ;;
  esac
  # By Apple's convention ("Coding Guidelines for Cocoa") methods that begin with an underscore are private. The same
  # section contains the names of the layer's own instance variables.
  llvm-otool-19 -v -s __TEXT __objc_methname "$library" | awk 'NF == 2 { print $2 }' | sort -u >"$work/selectors"
  grep -qx registerCurrent "$work/selectors" || fail "$slice: the layer's selectors are not found"
  # shellcheck disable=SC2016 # a dollar sign of a name
  sed -nE 's/^_OBJC_IVAR_\$_[A-Za-z]+\.//p' "$work/defined" | sort -u >"$work/variables"
  found=$(comm -23 "$work/selectors" "$work/variables" | grep '^_' || :)
  [[ -z $found ]] || fail "$slice: private selectors: $found"
  ! grep -aoE -m 3 "$private" "$library" || fail "$slice: a private interface in the layer"
  if ! "${cc[@]}" -fmodules -fmodules-cache-path="$work/modules" -Wall -Wextra -Werror -I"$include" -c -o "$work/layer.o" "$work/layer.m" ||
    ! "${cc[@]}" -o "$work/program" "$work/layer.o" "$library" "$out/slices/$slice/lib/libunspool.a" -framework Foundation; then
    fail "$slice: a program with the layer does not link"
  fi
}

cat >"$work/layer.m" <<'END'
@import UnspoolObjC;
int main(void) { return [USPThread registerCurrent] ? 0 : 1; }
END
cat >"$work/module.m" <<'END'
@import Unspool;
int main(void) { return usp_status_string(USP_OK) == 0; }
END
cat >"$work/plain.c" <<'END'
#include <unspool/unspool.h>
int main(void) { return usp_status_string(USP_OK) == 0; }
END

# check_slice SLICE ARCH VERSION: checks what build-apple left of the slice in $out.
check_slice() {
  local slice=$1 arch=$2 version=$3 found dylib exported
  local library=$out/slices/$slice/lib/libunspool.a include=$out/slices/$slice/include
  if [[ ! -f $library ]]; then
    fail "$slice: not built"
    return
  fi
  compiler "$slice"
  found=$(processor_of "$library")
  [[ $found == "$(expected_processor "$arch")" ]] || fail "$slice: its objects are of the processors $found"
  found=$(version_of "$library")
  [[ $found == "$(expected_version "$slice" "$version")" ]] || fail "$slice: says $found, not $version"

  # Links the library with libSystem only. (armv7k: its symbols are compared with libSystem's, see xcrun.)
  dylib=$work/$slice.dylib
  exported='not linked'
  if ! "${cc[@]}" -dynamiclib -Wl,-all_load -install_name @rpath/libunspool.dylib -o "$dylib" "$library" 2>"$work/link"; then
    fail "$slice: does not link: $(head -n 5 "$work/link")"
    return
  fi
  [[ ! -s $work/link ]] || fail "$slice: the linker says $(head -n 3 "$work/link")"
  if [[ $arch != armv7k ]]; then
    check_linked "$slice" "$dylib" libunspool.dylib "$version" "$libraries" "$work/public"
    exported="$(wc -l <"$work/exported") functions"
  fi
  ! grep -aoE -m 3 "$private" "$library" || fail "$slice: a private interface"

  llvm-nm-19 --quiet -uj "$out/slices/$slice"/lib/*.a | grep '^_' | sort -u | while read -r symbol; do required_reason "$symbol"; done | sort -u >"$work/reasons"
  sed -n 's/.*>NSPrivacyAccessedAPICategory\(.*\)<.*/\1/p' "$out/Unspool.xcframework/PrivacyInfo.xcprivacy" | sort >"$work/given"
  diff "$work/reasons" "$work/given" || fail "$slice: the privacy manifest gives reasons for other functions than it calls"

  "${cc[@]}" -std=gnu11 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wundef -Werror -I"$include" \
    -include "$top/tests/apple/program.h" -fsyntax-only "$top/doc/examples/ios/checklist.c" ||
    fail "$slice: the device checklist does not compile"
  "${cc[@]}" -std=gnu11 -Wall -Wextra -Werror -I"$include" -include "$top/tests/apple/program.h" -fsyntax-only \
    "$top/doc/examples/crash.c" || fail "$slice: doc/examples/crash.c does not compile"

  # Compiles a Clang module that is found beside the headers, and then links as a program would.
  "${cc[@]}" -fmodules -fmodules-cache-path="$work/modules" -Wall -Wextra -Wincomplete-umbrella -Werror=nullability-completeness \
    -Werror -I"$include" -fsyntax-only "$work/module.m" || fail "$slice: the module does not parse"
  "${cc[@]}" -I"$include" -o "$work/program" "$work/plain.c" "$library" || fail "$slice: a program does not link"
  check_layer "$slice" "$arch" "$version" "$dylib"
  echo "$slice: $exported, $(wc -c <"$library") bytes"
}
while read -r slice _ arch version; do check_slice "$slice" "$arch" "$version"; done <<<"$list"

# ---- the XCFrameworks: the list names the files that exist, and all of them
python3 - "$out" "$work" "$list" <<'END' || fail "the XCFramework's list"
import pathlib, plistlib, subprocess, sys

out, work, wanted = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), [line.split() for line in sys.argv[3].splitlines()]
found = 0

def check(holds, text):
    global found
    if not holds:
        print(text)
        found += 1

def run(*arguments):
    return subprocess.run(["llvm-lipo-19", *arguments], capture_output=True, text=True, check=True).stdout

# Slices as (platform, variant, processor), in xcodebuild's spelling.
def where_is(name):
    if name.startswith("maccatalyst-"):
        return "ios", "maccatalyst"
    platform, _, rest = name.partition("-")
    return "xros" if platform == "visionos" else platform, "simulator" if rest.startswith("simulator-") else ""

slices = {(*where_is(name), arch): name for name, _, arch, _ in wanted}
frameworks = sorted(out.glob("*.xcframework"))
check([framework.stem for framework in frameworks] == ["Unspool", "UnspoolObjC"], f"the XCFrameworks are {frameworks}")
for framework in frameworks:
    info = plistlib.loads((framework / "Info.plist").read_bytes())
    manifest = plistlib.loads((framework / "PrivacyInfo.xcprivacy").read_bytes())
    check(info["CFBundlePackageType"] == "XFWK" and info["XCFrameworkFormatVersion"] == "1.0", f"{framework}: its kind")
    check(manifest["NSPrivacyTracking"] is False, f"{framework}: the privacy manifest")
    collected = [entry["NSPrivacyCollectedDataType"] for entry in manifest["NSPrivacyCollectedDataTypes"]]
    check(collected == ["NSPrivacyCollectedDataTypeCrashData"], f"{framework}: the privacy manifest declares {collected}")
    listed = []
    for entry in info["AvailableLibraries"]:
        folder = framework / entry["LibraryIdentifier"]
        library = folder / entry["LibraryPath"]
        headers = folder / entry["HeadersPath"]
        check(entry["BinaryPath"] == entry["LibraryPath"], f"{folder}: two names of the library")
        check(list(headers.glob("*/module.modulemap")) and list(headers.glob("*/*.h")), f"{headers}: no headers or module map")
        where = (entry["SupportedPlatform"], entry.get("SupportedPlatformVariant", ""))
        archs = entry["SupportedArchitectures"]
        words = [where[0], "_".join(archs), *filter(None, where[1:])]
        check(entry["LibraryIdentifier"] == "-".join(words) and archs == sorted(archs), f"{folder}: its name is not {words}")
        # Each processor's part is the slice's own library.
        if len(archs) > 1:
            told = run("-archs", library).split()
            check(sorted(told) == sorted(archs), f"{library}: has {told}")
            for arch in archs:
                run("-thin", arch, "-output", work / arch, library)
        else:
            (work / archs[0]).write_bytes(library.read_bytes())
        for arch in archs:
            own = out / "slices" / slices.get((*where, arch), "none") / "lib" / library.name
            check(own.exists() and own.read_bytes() == (work / arch).read_bytes(), f"{library}: {arch} is not that of {own}")
        listed += [(*where, arch) for arch in archs]
    check(sorted(listed) == sorted(slices), f"{framework}: lists {sorted(listed)}")
    folders = sorted(path.name for path in framework.iterdir() if path.is_dir())
    check(folders == sorted(entry["LibraryIdentifier"] for entry in info["AvailableLibraries"]), f"{framework}: has {folders}")
    print(f"{framework.name}: {len(listed)} slices in {len(folders)} folders")
sys.exit(found != 0)
END

# ---- the options: some slices, for a later system, in another folder
# built OUTPUT: prints the slices in that folder.
built() { (cd "$1/slices" && echo *); }
# An SDK that builds for one processor only: the command prints a line for each slice that it has dropped, and builds
# the rest.
export USP_SDK_LACKS='arm64 arm64e armv7 armv7k x86_64 i386'
"$top/tools/build-apple" --old --min-version watchos=6.1 --output "$work/few" -- "${arguments[@]}" >"$work/says" ||
  fail "build-apple: not with an SDK for arm64_32 alone: $(cat "$work/says")"
unset USP_SDK_LACKS
[[ $(grep -c ': left out, the SDK .* does not build it$' "$work/says") -eq $(($(wc -l <<<"$all") - 1)) ]] ||
  fail "build-apple: not a line for each slice left out: $(cat "$work/says")"
[[ $(built "$work/few") == watchos-arm64_32 ]] || fail "build-apple: built $(built "$work/few"), not watchos-arm64_32"
out=$work/few check_slice watchos-arm64_32 arm64_32 6.1
found=$(cd "$work/few/Unspool.xcframework" && echo */)
[[ $found == watchos-arm64_32/ ]] || fail "build-apple: Unspool.xcframework of watchos-arm64_32 has $found"
# Options with "=" mean the same.
export USP_SDK_LACKS=armv7k
says 1 'watchos-armv7k: the SDK watchos does not build it' --slice=watchos-armv7k --min-version=watchos=6.1 --output="$work/one"
unset USP_SDK_LACKS
[[ -d $work/one ]] || fail "build-apple --output=FOLDER: not there"

# ---- the commands of the README
mkdir "$work/by-hand"
sed -n '/^\.\/configure --host=aarch64-apple-darwin/,/[^\\]$/p' "$top/README.md" | sed "s|^\./|$top/|" >"$work/by-hand.sh"
[[ $(wc -l <"$work/by-hand.sh") -eq 2 ]] || fail "README.md shows no configure with xcrun"
if (cd "$work/by-hand" && bash "$work/by-hand.sh" && make -s arch/libunspool-arch.la) >"$work/says" 2>&1; then
  found=$(processor_of "$work/by-hand/arch/.libs/libunspool-arch.a")
  [[ $found == "$(expected_processor arm64)" ]] || fail "README.md: its configure makes objects of the processors $found"
else
  fail "README.md: its configure fails: $(tail -n 5 "$work/says")"
fi
verdict
