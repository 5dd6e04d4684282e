#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Checks the layout's rules: arch/ is pure (needs only mem*), one file asks which processor this is, configure never
# does, and each folder includes only what the design allows.
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
read -ra nm <<<"${NM:-nm}"
make_work

# ---- undefined symbols of the backends' archive
archive=
for candidate in arch/.libs/libunspool-arch.a arch/libunspool-arch.a; do
  [[ -e $candidate ]] && archive=$candidate
done
if [[ -n $archive ]]; then
  "${nm[@]}" "$archive" >"$work/symbols"
  grep -q . "$work/symbols" || fail "$archive has no symbols"
  # Allowed besides mem* and our own names: functions to which compilers add calls (position independence, 32-bit arm's
  # division and unwinding, sanitizers, coverage, Apple's bzero where memset writes zeros).
  while read -r name; do fail "$archive needs $name"; done < <(awk '$1 == "U" { print $2 }' "$work/symbols" | sort -u |
    grep -vE '^_?(mem(cpy|move|set|cmp|chr)|uspi_[a-z0-9_]+)$' |
    grep -vE '^(_GLOBAL_OFFSET_TABLE_|__x86\.get_pc_thunk\..*|__aeabi_.*|___?stack_chk_(fail|guard).*|_(__)?bzero)$' |
    grep -vE '^__(asan|ubsan|sanitizer|sancov|msan|tsan)_|^__start___sancov|^__stop___sancov')
  # Writable data would be state. (Constants with relocations lie in .data.rel.ro.)
  if "${nm[@]}" --format=sysv "$archive" >"$work/sections" 2>/dev/null; then
    while read -r name; do fail "$archive keeps state in $name"; done < <(awk -F '|' '
      NF == 7 { gsub(/ /, "", $1); gsub(/ /, "", $7)
                if ($1 !~ /^(\.|__)/ && $7 ~ /^(\.data|\.bss|\.tdata|\.tbss|\*COM\*)(\.|$)/ && $7 !~ /^\.data\.rel\.ro/) print $1 }
      ' "$work/sections" | sort -u)
  fi
fi

# ---- which file asks for the processor
processor='__(x86_64|amd64|i[3456]86|aarch64|arm|arm64|thumb|s390x?|powerpc|riscv|mips|LP64|ILP32)(_[0-9A-Za-z]+)?_?_?'
processor="\\b($processor|_LP64|_?_?ARM_ARCH\w*|__ARM_\w+|TARGET_CPU_\w+|_M_(X64|IX86|ARM\w*))\\b"
# One perl reads all files, because a thousand processes would take many seconds.
while IFS=$'\t' read -r file found; do
  fail "$file asks for the processor: $found"
done < <(code arch include lib tools | grep -vx arch/host.h | (cd "$top" && PROCESSOR=$processor perl -ne '
  chomp(my $file = $_);
  open(my $in, "<", $file) or die "$file: $!\n";
  my $text = do { local $/; <$in> };
  $text =~ s{/\*.*?\*/}{ }gs;
  $text =~ s{//[^\n]*}{}g;
  $text =~ s{"(?:[^"\\\n]|\\.)*"}{""}g;
  my %found;
  while ($text =~ /($ENV{PROCESSOR})/g) { $found{$1} = 1 }
  print "$file\t", join(" ", sort keys %found), "\n" if %found;'))
while read -r found; do fail "configure asks for the processor: $found"; done < <(cd "$top" &&
  find configure.ac Makefile.am m4 arch doc include lib tests tools \
    \( -name '*.ac' -o -name '*.am' -o -name 'usp_*.m4' -o -name '*.inc' \) -print0 |
  xargs -0 grep -nE 'host_cpu|target_cpu|build_cpu')

# ---- which system headers a folder may include; check-layers.sh checks the order of the folders
standard='<(assert|ctype|errno|inttypes|limits|stdalign|stdarg|stdatomic|stdbool|stddef|stdint|stdio|stdlib|string|time)\.h>'
public='<unspool/[a-z_]+\.h>'
ours='"lib/[a-z_0-9/]+\.h"'
backend='"arch/(any|backend|frame|little_endian)\.h"'
host='"arch/host\.h"'
config='"config\.h"|<config\.h>'

# allowed FILE: sets $may to what the file may include; the first match counts.
allowed() {
  may=
  case $1 in
  include/unspool-objc/*) may="<Foundation/Foundation\.h>|<unspool/base\.h>|<unspool-objc/[A-Za-z_-]+\.h>" ;;
  include/*) may="<(stdbool|stddef|stdint)\.h>|\"unspool_prefix\.h\"|$public" ;;
  arch/*) may="<string\.h>|$public|\"arch/[a-z0-9_/]+\.h\"" ;;
  # Which unwind tables this host's images can have depends on the processor.
  lib/unwind/readers/table.c) may="$standard|$public|$ours|$host" ;;
  # These headers describe libraries that may be missing; lib/os/ loads them.
  lib/images/decompress.c) may="$standard|$public|$ours|$config|<(libdeflate|lzma|zlib|zstd)\.h>" ;;
  # The layer uses only the public functions, like any other program.
  lib/objc/loop_source_cf.m) may="<(CoreFoundation/CoreFoundation|dispatch/dispatch)\.h>|\"lib/objc/loop_source\.h\"" ;;
  lib/objc/*) may="$standard|$public|<Foundation/Foundation\.h>|<unspool-objc/[A-Za-z_-]+\.h>|\"lib/objc/[a-z_]+\.h\"" ;;
  lib/os/*) may="<[A-Za-z0-9_/-]+\.h>|$ours|$backend|$host|$config" ;;
  # The command compiles its own copy of these and otherwise calls only public functions of the library.
  tools/*) may="<[A-Za-z0-9_/-]+\.h>|$config|\"tools/[a-z_0-9/]+\.h\"|\"lib/base/(array|bisect|json|packer|source|span|text)\.h\"" ;;
  lib/base/* | lib/capture/* | lib/crash/* | lib/snapshot/*) may="$standard|$public|$ours|$backend|$host|$config" ;;
  lib/*) may="$standard|$public|$ours|$backend|$config" ;;
  esac
}
last=
while IFS=$'\t' read -r file included; do
  [[ $file == "$last" ]] || allowed "$file"
  last=$file
  [[ $included =~ ^($may)$ ]] || fail "$file must not include $included"
done < <(cd "$top" && code include arch lib tools | xargs -d '\n' grep -HE '^ *# *(include|import)' |
  sed -E 's/^([^:]*): *# *(include|import) */\1\t/; s/ *(\/\*.*)?$//')

verdict
