#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# symbolic 13.9.0 (PyPI) loses the unwind rules of arm64 functions that sign their return address. When it converts
# .eh_frame to Breakpad's STACK CFI, it drops all rows after DW_CFA_AARCH64_negate_ra_state, which follows the first
# instruction (paciasp). It raises no error. The rule of the first instruction remains for the whole function, so an
# unwinder takes the wrong stack pointer and x30 for the caller's. With the B key (augmentation "zRB"), the
# conversion of the whole file fails. An expert expects the rows of the stack pointer to survive an operation that says
# nothing about it. -mbranch-protection=standard, with which Fedora, for example, builds packages, has this effect.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# Unpacks the packages and their missing dependencies here. The system's C library stays in use.
packages=(
  llvm-19=1:19.1.7-3~deb12u1 libllvm19=1:19.1.7-3~deb12u1 lld-19=1:19.1.7-3~deb12u1
)
mkdir -p deb/partial root
apt-get -y -q --no-install-recommends --download-only --reinstall --allow-downgrades -o Debug::NoLocking=1 \
  -o Dir::Cache::archives="$work/deb" install "${packages[@]}" >apt.log 2>&1 || { cat apt.log; exit 1; }
rm -f deb/libc6_*
for file in deb/*.deb; do dpkg -x "$file" root; done
export LD_LIBRARY_PATH=$work/root/usr/lib/x86_64-linux-gnu
PATH=$work/root/usr/bin:$PATH

python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check symbolic==13.9.0

# expect WHAT EXPECTED ACTUAL: prints the answer and ends the script if it is another one than the one seen before.
expect() {
  echo "$1: $3"
  [[ $2 == "$3" ]] || { echo "changed; it was: $2"; exit 1; }
}

cat >signed.s <<'END'
.globl function
.type function, %function
function:
 .cfi_startproc
 hint #25
 .cfi_negate_ra_state
 stp x29, x30, [sp, #-16]!
 .cfi_def_cfa_offset 16
 .cfi_offset x30, -8
 .cfi_offset x29, -16
 bl function
 ldp x29, x30, [sp], #16
 .cfi_def_cfa_offset 0
 .cfi_restore x30
 .cfi_restore x29
 hint #29
 .cfi_negate_ra_state
 ret
 .cfi_endproc
.size function, . - function
END
grep -vE 'hint|negate' signed.s >plain.s
sed 's/cfi_startproc/&\n .cfi_b_key_frame/; s/#25/#27/; s/#29/#31/' signed.s >bkey.s
cat >rows.py <<'END'
import sys, symbolic
image = next(symbolic.Archive.open(sys.argv[1]).iter_objects())
try:
    print(image.make_cficache().open_stream().read().decode().count("STACK CFI"))
except symbolic.SymbolicError as error:
    print(type(error).__name__)
END
for kind in plain signed bkey; do
  llvm-mc-19 -triple aarch64-linux -filetype=obj "$kind.s" -o "$kind.o"
  ld.lld-19 -shared "$kind.o" -o "$kind.so"
done
rows() { LD_LIBRARY_PATH='' venv/bin/python rows.py "$1"; }
expect 'rows without signing' 3 "$(rows plain.so)"
expect 'rows with paciasp and autiasp' 1 "$(rows signed.so)"
expect 'rows with pacibsp and autibsp' CfiErrorBadDebugInfo "$(rows bkey.so)"
