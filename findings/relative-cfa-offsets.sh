#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# LLVM's assembler (19.1.7) writes wrong unwind rules for .cfi_adjust_cfa_offset behind .cfi_restore_state.
# The directive is relative to the current offset of the CFA, and DWARF has only absolute offsets, so the assembler adds
# up. At .cfi_restore_state, LLVM does not go back to the remembered offset and adds to that of the left branch.
# A function that pushes, returns early, and pushes again behind the restored state has "rsp+16" there, not "rsp+24":
# an unwinder takes a saved register for the return address. GNU as 2.40 writes the right rule for the same text.
# There is no warning, and the rules before the second push are right. An expert expects both assemblers to agree, as
# the pair of directives exists for early returns. GCC writes absolute offsets, which are right in both assemblers. The
# relative ones are usual in assembler written by hand.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# Unpacks the packages and their missing dependencies here. The system's C library stays in use.
packages=(
  llvm-19=1:19.1.7-3~deb12u1 libllvm19=1:19.1.7-3~deb12u1 binutils=2.40-2 binutils-common=2.40-2
  binutils-x86-64-linux-gnu=2.40-2 libbinutils=2.40-2 libctf0=2.40-2 libctf-nobfd0=2.40-2
)
mkdir -p deb/partial root
apt-get -y -q --no-install-recommends --download-only --reinstall --allow-downgrades -o Debug::NoLocking=1 \
  -o Dir::Cache::archives="$work/deb" install "${packages[@]}" >apt.log 2>&1 || { cat apt.log; exit 1; }
rm -f deb/libc6_*
for file in deb/*.deb; do dpkg -x "$file" root; done
export LD_LIBRARY_PATH=$work/root/usr/lib/x86_64-linux-gnu
PATH=$work/root/usr/bin:$PATH

# expect WHAT EXPECTED ACTUAL: prints the answer and ends the script if it is another one than the one seen before.
expect() {
  echo "$1: $3"
  [[ $2 == "$3" ]] || { echo "changed; it was: $2"; exit 1; }
}

cat >early.s <<'END'
.globl early
.type early, @function
early:
  .cfi_startproc
  pushq %rbx
  .cfi_adjust_cfa_offset 8
  testq %rdi, %rdi
  jne 1f
  .cfi_remember_state
  popq %rbx
  .cfi_adjust_cfa_offset -8
  ret
  .cfi_restore_state
1:
  pushq %r12
  .cfi_adjust_cfa_offset 8
  call work
  popq %r12
  .cfi_adjust_cfa_offset -8
  popq %rbx
  .cfi_adjust_cfa_offset -8
  ret
  .cfi_endproc
.size early, . - early
END
llvm-mc-19 -triple x86_64-linux -filetype=obj early.s -o llvm.o 2>llvm.log
x86_64-linux-gnu-as early.s -o gnu.o 2>gnu.log
expect 'warnings' '' "$(cat llvm.log gnu.log)"

# offsets FILE: the CFA of each row of the function. The fifth row is behind the restored state, the sixth behind the
# second push.
offsets() {
  llvm-dwarfdump-19 --eh-frame "$1" | awk '/FDE/ { inside = 1 } inside && / CFA=/ { sub(/:.*/, "", $2); print $2 }' |
    sed 's/CFA=RSP$/RSP+0/; s/CFA=//' | xargs
}
expect 'CFA in the rows of GNU as' 'RSP+8 RSP+16 RSP+16 RSP+8 RSP+16 RSP+24 RSP+16 RSP+8' "$(offsets gnu.o)"
expect 'CFA in the rows of LLVM' 'RSP+8 RSP+16 RSP+16 RSP+8 RSP+16 RSP+16 RSP+8 RSP+0' "$(offsets llvm.o)"
