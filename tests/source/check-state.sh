#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Checks, in the object files of this build or of the given folder, that the library has no mutable static data but the
# objects listed here: one for each layer with a state, and the few that are none. Each says who reads and writes it.
# usp_shutdown must give back what a new one would hold. Constant data with addresses (.data.rel.ro) does not count.
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
need_tools perl
make_work
cd "${1:-.}"

# One object file for each source file. The Objective-C layer is another library, with its own state.
find arch lib -name '*.o' -not -name 'tests_*' -not -path 'lib/objc/*' | sort >"$work/all"
awk '{ name = $0; sub(/\/\.libs\//, "/", name); if (!seen[name]++) print }' "$work/all" >"$work/objects"
[[ $(wc -l <"$work/objects") -gt 100 ]] || fail "no objects to look at"

# The first objdump that reads such objects. A target's tools have one prefix and one suffix: aarch64-linux-gnu-nm.
read -ra nm <<<"${NM:-nm}"
tool=$(basename "${nm[0]}")
objdump=
for candidate in "${tool%nm*}objdump${tool##*nm}" objdump llvm-objdump llvm-objdump-19; do
  have "$candidate" || continue
  [[ $("$candidate" -t "$(head -n 1 "$work/objects")" 2>/dev/null || :) == *"SYMBOL TABLE"* ]] || continue
  objdump=$candidate
  break
done
[[ -n $objdump ]] || skip "no objdump for these objects is installed"

cat >"$work/allowed" <<'END'
lib/capture/state uspi_capture_state
lib/images/own_images state
lib/os/darwin/capturing uspi_darwin_capturing
lib/os/darwin/capturing uspi_own_stack
lib/os/linux/calls uspi_linux
lib/os/linux/capturing uspi_capturing
lib/os/linux/capturing uspi_capturing_thread
lib/os/linux/capturing uspi_own_stack
lib/os/none uspi_own_stack
lib/os/posix/lock locks
END

# One objdump and one perl read all objects. A member of an archive, or a file, begins with its name.
tr '\n' '\0' <"$work/objects" | xargs -0 "$objdump" -t 2>/dev/null | perl -ne '
    if (/^(\S+)\.o:\s+file format/) { ($name = $1) =~ s{/\.libs/}{/}; $seen++ }
    my ($section, $symbol) = /^[0-9a-f]+ .{5}[dD ][O ] (\S+)\s+(?:[0-9a-f]+\s+)?(?:\.hidden\s+)?(\S+)$/ or next;
    next unless $section =~ /^(\.(data|bss|tdata|tbss)|\*COM\*|__DATA,__(data|bss|common|thread_\w+))/;
    # A section itself, constant data with addresses, and what compilers and assemblers add.
    next if $section =~ /^\.data\.rel\.ro/ or $symbol =~ /^([.]|l?__|ltmp\d+$)/;
    # Mach-O.
    $symbol =~ s/^_|\$tlv\$init$//g if $section =~ /^__DATA/;
    print "$name $symbol\n";
    END { print STDERR $seen + 0, "\n" }' 2>"$work/read" | sort -u >"$work/found"
[[ $(<"$work/read") -eq $(wc -l <"$work/objects") ]] || fail "$objdump read $(<"$work/read") of $(wc -l <"$work/objects") objects"

grep -qx 'lib/images/own_images state' "$work/found" || fail "$objdump does not show the objects that there are"
while read -r line; do
  fail "${line% *}.c has mutable static data: ${line#* }"
done < <(sort "$work/allowed" | comm -23 "$work/found" -)
echo "$(wc -l <"$work/objects") object files; the mutable data in them:"
cat "$work/found"
verdict
