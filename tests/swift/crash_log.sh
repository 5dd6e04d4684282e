#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests that the output of Swift's own runtime about a stripped program is symbolicated: the crash log as text and as
# JSON, and a Backtrace with its image map that the program itself has encoded.
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
# shellcheck source=tests/support/swift_toolchain.sh
. "$top/tests/support/swift_toolchain.sh"
find_swift || skip "$no_swift"
need_tools strip
ulimit -c 0
make_work
mkdir "$work/files"

cat >"$work/shop.swift" <<'END_SWIFT'
import Foundation
import Runtime

@inline(never) func price(_ cart: [Int]) throws -> Int {
    if CommandLine.arguments.count > 1 {
        let backtrace = try Backtrace.capture(limit: nil, images: ImageMap.capture())
        print(String(decoding: try JSONEncoder().encode(backtrace), as: UTF8.self))
        return 1
    }
    let item = cart[cart.count]
    return item + 1
}
@inline(never) func checkout(_ cart: [Int]) throws -> Int {
    let sum = try price(cart)
    return sum + 1
}
@main struct Shop {
    static func main() throws {
        let paid = try checkout([1, 2])
        if paid == 0 { print(paid) }
    }
}
END_SWIFT
"$swift_folder/swiftc" -parse-as-library -Onone "$work/shop.swift" -o "$work/files/shop"
strip -o "$work/shop" "$work/files/shop"

# writes TEXT...: checks that the command's output contains these texts.
writes() {
  local text
  for text; do grep -qE -- "$text" "$work/out" || fail "the output lacks: $text" "$(cat "$work/out" "$work/err")"; done
}

# named LOG: checks that the program's functions had no names and get them.
named() {
  ! grep -qE 'price|checkout' "$1" || fail "$1: a function has its name already"
  tools/unspool symbolize --quiet --log "$1" --search "$work/files" >"$work/out" 2>"$work/err" || fail "symbolize $1"
  writes 'price\(' 'checkout\(' 'Shop\.main\('
  tools/unspool report --quiet --search "$work/files" "$1" >"$work/out" 2>"$work/err" || fail "report $1"
  writes 'price\(' 'checkout\(' 'Shop\.main\('
}

for format in text json; do
  log=$work/$format.log
  options=enable=yes,format=$format,symbolicate=off,output-to=$log,interactive=no,color=no
  # In a separate shell, which prints the message that the program was killed.
  (SWIFT_BACKTRACE=$options "$work/shop" && fail "the program does not crash") >/dev/null 2>&1 || :
  if [[ -s $log ]]; then named "$log"; else fail "no crash log as $format"; fi
done
"$work/shop" backtrace >"$work/encoded.json"
named "$work/encoded.json"
verdict
