#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests names from files that no linker here can write. yaml/*.yaml describes their contents (for yaml2obj) and the
# expected names, in lines "# expect ARCH ADDRESS START NAME" or "# expect ARCH ADDRESS -". Runs in the folder of the
# build.
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"

names=$started_in/tests/symbolize
[[ -x $names/macho_names && -x $names/elf_names ]] || skip "tests/symbolize/macho_names was not built"
need_tools yaml2obj-19

make_work

# name FILE ARCH ADDRESS: prints "START NAME" or "-".
name() {
  if [[ $1 == */elf_* ]]; then
    "$names/elf_names" "$1" <<<"$3" | cut -d' ' -f 2-
  else
    "$names/macho_names" "$1" "$2" <<<"$3" | cut -f 1 | cut -d' ' -f 2,4-
  fi
}

for shape in "$top"/tests/symbolize/yaml/*.yaml; do
  file=$work/$(basename "$shape" .yaml)
  yaml2obj-19 "$shape" -o "$file"
  asked=0
  while read -r arch address start wanted; do
    # The programs write 0 without its "0x".
    expected=${start/#0x0/0}${wanted:+ $wanted}
    given=$(name "$file" "$arch" "$address")
    [[ $given == "$expected" ]] || fail "$(basename "$shape"): $address is \"$given\", not \"$expected\""
    asked=$((asked + 1))
  done < <(sed -n 's/^# expect //p' "$shape")
  [[ $asked -gt 0 ]] || fail "$(basename "$shape"): expects nothing"
  echo "$(basename "$shape"): $asked addresses"
done
verdict
