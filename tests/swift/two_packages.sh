#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A Swift program that depends on the package and on a renamed copy of it (tools/rename-package), as two SDKs in one app
# do. Both capture all threads and each other's at once.
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
# shellcheck source=tests/support/swift_toolchain.sh
. "$top/tests/support/swift_toolchain.sh"
find_swift || skip "$no_swift"
need_tools perl
make_work

mkdir "$work/unspool"
(cd "$top" && tar --exclude .deps --exclude .libs --exclude '*.o' --exclude '*.l[ao]' --exclude '*.pc' -cf - \
  COPYING Package.swift arch include lib swift tests/swift tools) | tar -xf - -C "$work/unspool"
"$work/unspool/tools/rename-package" Acme "$work/acme"
# No C name, class or header of the copy is the first one's.
grep -rlwE '(usp|uspi)_[a-z0-9_]+|USP[A-Z][a-z][A-Za-z]+' "$work/acme" --include='*.[chm]' --include='*.swift' && fail "names that are not renamed"
"$work/unspool/tools/rename-package" Acme "$work/acme" 2>/dev/null && fail "an existing folder is overwritten"

mkdir -p "$work/two/Sources/two"
cat >"$work/two/Package.swift" <<END
// swift-tools-version:6.0
import PackageDescription

let package = Package(
    name: "two",
    dependencies: [.package(path: "$work/unspool"), .package(path: "$work/acme")],
    targets: [
        .executableTarget(
            name: "two",
            dependencies: [.product(name: "Unspool", package: "unspool"), .product(name: "AcmeUnspool", package: "acme")])
    ])
END
cat >"$work/two/Sources/two/main.swift" <<'END'
import AcmeUnspool
import Foundation
import Unspool

// A capture's signal ends a sleep.
@inline(never) func standStill() { while true { sleep(100) } }
for _ in 0..<2 { Thread { standStill() }.start() }

// No queues: their threads block signals, so a capture does not reach them. A capture gives up a thread that does not
// run for 100 ms, as on a busy machine.
let rounds = 50
let attempts = 2000
let done = DispatchSemaphore(value: 0)
// One for each thread: an array of both would be shared.
nonisolated(unsafe) var ours = 0
nonisolated(unsafe) var theirs = 0
Thread {
    for _ in 0..<attempts where ours < rounds {
        let stacks = (try? Unspool.Stack.captureAll()) ?? []
        if stacks.count >= 5 && stacks.allSatisfy({ $0.failure == nil }) { ours += 1 }
    }
    done.signal()
    standStill()
}.start()
Thread {
    for _ in 0..<attempts where theirs < rounds {
        let stacks = (try? AcmeUnspool.Stack.captureAll()) ?? []
        if stacks.count >= 5 && stacks.allSatisfy({ $0.failure == nil }) { theirs += 1 }
    }
    done.signal()
    standStill()
}.start()
for _ in 0..<2 { done.wait() }
print("complete: \(ours) \(theirs)")
@inline(never) func checkout() throws -> [String] {
    [
        try Unspool.Stack.capture().symbolicated().first?.symbol?.name ?? "",
        try AcmeUnspool.Stack.capture().symbolicated().first?.symbol?.name ?? "",
    ]
}
print("names: \(try checkout().joined(separator: " "))")
END
if ! (cd "$work/two" && "$swift_folder/swift" build --cache-path "$work/cache" --config-path "$work/config" \
  --security-path "$work/security" --jobs 2 -Xswiftc -warnings-as-errors) >"$work/build.log" 2>&1; then
  grep -vE '^\[[0-9]+/[0-9]+\] Compiling' "$work/build.log"
  fail "a program with two packages does not build"
  verdict
fi
timeout 120 "$work/two/.build/debug/two" >"$work/says" || fail "the program fails"
cat "$work/says"
grep -qx 'complete: 50 50' "$work/says" || fail "a capture of all threads is not complete"
grep -qx 'names: checkout() checkout()' "$work/says" || fail "a copy names the wrong function"
verdict
