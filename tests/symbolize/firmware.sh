#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Firmware: code that begins at address 0, in a program whose headers are not loaded. The linker has removed a function,
# and left its debug information with address 0. So the name at 0 is the symbol table's; its line is not compared, because
# the debug information gives two.
set -euo pipefail
# shellcheck source=tests/tool/common.sh
. "$(dirname "$0")/../tool/common.sh"
need_tools nm
read -ra cc <<<"${CC:-cc}"
cd "$work"
cat >helpers.c <<'END'
int removed(int x) { return x * 7; }
int kept(int x) { return x + 1; }
END
cat >reset.c <<'END'
int kept(int);

__attribute__((section(".vectors"))) int reset(int x) { return kept(x); }
END
cat >memory.ld <<'END'
SECTIONS {
  . = 0;
  .text : { KEEP(*(.vectors)) *(.text*) }
  /DISCARD/ : { *(.comment) *(.note*) *(.eh_frame) *(.ARM.*) }
}
END
"${cc[@]}" -O1 -g -ffreestanding -ffunction-sections -fno-pic -nostdlib -static -no-pie -Wl,--gc-sections \
  -Wl,--build-id=none -Wl,-e,reset -Wl,-T,memory.ld -o firmware helpers.c reset.c
kept=0x$(nm firmware | sed -n 's/ T kept$//p')
"$unspool" symbolize -o firmware 0x0 "$kept" >out || fail "status $?"
sed '1s/ (reset\.c:3)$//; 1s/ (helpers\.c:1)$//' out >said
printf 'reset (in firmware)\nkept (in firmware) (helpers.c:2)\n' | cmp -s - said || fail "firmware: $(<out)"
verdict
