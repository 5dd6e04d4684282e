#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests the Swift package as a user gets it: a repository with a version, cloned by URL. The package builds without a
# warning, its tests pass, and it has the same source files as Automake. A program that depends on the version prints
# its own stack.
set -euo pipefail
# shellcheck source=tests/support/script.sh
. "$(dirname "$0")/../support/script.sh"
# shellcheck source=tests/support/swift_toolchain.sh
. "$top/tests/support/swift_toolchain.sh"
find_swift || skip "$no_swift"
need_clone
need_tools python3
make_work

version=$(project_version)
strict=(-Xcc -Werror -Xcc -Wall -Xcc -Wextra -Xswiftc -warnings-as-errors)

# swift_in FOLDER COMMAND ARGUMENT...: runs SwiftPM in a folder, without the user's settings.
swift_in() {
  (cd "$1" && "$swift_folder/swift" "$2" --cache-path "$work/cache" --config-path "$work/config" --security-path "$work/security" \
    --jobs 2 "${@:3}")
}

# Uncommitted changes are tested too.
mkdir "$work/unspool" "$work/consumer"
(cd "$top" && project_files | tar -cf - -T -) | tar -xf - -C "$work/unspool"
git_in() { git -C "$work/unspool" -c user.name=tests -c user.email=tests@localhost "$@"; }
git_in init -q
git_in add .
git_in commit -q -m "The version to test"
git_in tag "$version"

# ---- the same source files as Automake's lists
swift_in "$work/unspool" package describe --type json >"$work/package.json"
python3 - "$work/package.json" <<'PYTHON' | LC_ALL=C sort >"$work/sources"
import json, sys

for target in json.load(open(sys.argv[1]))["targets"]:
    if target["name"] == "CUnspool":
        print("\n".join(target["sources"]))
PYTHON
# Linux does not build the Objective-C layer; tests/source/check-packages.sh checks its list.
automake_sources | grep -v '^lib/objc/' | LC_ALL=C sort | diff - "$work/sources" || fail "SwiftPM's sources are not Automake's"

# ---- the package's own tests, one after another: Swift's unwinder, with which some compare, lists the mappings of the
# process and then reads them, and crashes if another thread has unmapped a file in between.
if ! swift_in "$work/unspool" test --no-parallel "${strict[@]}" >"$work/tests.log" 2>&1; then
  grep -vE '^\[[0-9]+/[0-9]+\] Compiling' "$work/tests.log"
  fail "the package's tests"
fi
grep -E '^.{0,4}Test run with [1-9][0-9]* tests' "$work/tests.log" || fail "the package has run no tests"

# ---- README's examples in Swift, each as a program that depends on the package
awk -v to="$work/example." '/^```swift$/ { inside = 1; count++; next } /^```/ { inside = 0 } inside { print >(to count) }' "$top/README.md"
examples=("$work"/example.*)
[[ ${#examples[@]} -eq 3 ]] || fail "README.md has ${#examples[@]} examples in Swift"
targets=''
for example in "${examples[@]}"; do
  name=readme${example##*.}
  mkdir -p "$work/consumer/Sources/$name"
  { grep -q '^import Unspool$' "$example" || echo 'import Unspool' && cat "$example"; } >"$work/consumer/Sources/$name/main.swift"
  targets+=",
        .executableTarget(name: \"$name\", dependencies: [.product(name: \"Unspool\", package: \"unspool\")])"
done

# ---- a program that depends on it
mkdir -p "$work/consumer/Sources/consumer" "$work/consumer/Sources/crasher"
cat >"$work/consumer/Package.swift" <<END
// swift-tools-version:6.0
import PackageDescription

let package = Package(
    name: "consumer",
    dependencies: [.package(url: "file://$work/unspool", exact: "$version")],
    targets: [
        .executableTarget(
            name: "consumer",
            dependencies: [.product(name: "Unspool", package: "unspool"), .product(name: "CUnspool", package: "unspool")]),
        .executableTarget(name: "crasher", dependencies: [.product(name: "Unspool", package: "unspool")])$targets
    ])
END
cat >"$work/consumer/Sources/consumer/main.swift" <<'END'
import CUnspool
import Unspool

@inline(never) func checkout() throws -> Stack { try inlinedStep() }
@inline(__always) func inlinedStep() throws -> Stack {
    let stack = try Stack.capture()
    return stack
}

let captured = try checkout()
// Before anything is symbolicated, which makes the list of images as well.
var ticket: UInt32 = 0
print("images are listed: \(usp_images_count(usp_images_acquire(&ticket)) > 0)")
usp_images_release(ticket)
let stack = captured.symbolicated()
for frame in stack { print(frame) }
for call in stack[0].inlined { print("inlined: \(call.function ?? "") (\(call.location?.description ?? ""))") }
print("main: \(try Stack.capture(.main).symbolicated().first?.symbol?.name ?? "")")
print("version: \(String(cString: usp_version_string()))")
END
cat >"$work/consumer/Sources/crasher/main.swift" <<'END'
import Unspool

@inline(never) func checkout(_ address: Int) { UnsafeMutablePointer<Int>(bitPattern: address)!.pointee = 1 }

let folder = CommandLine.arguments[1]
if CommandLine.arguments.count == 2 {
    var options = CrashReporter.Options()
    options.version = "1.0"
    try CrashReporter.start(directory: folder, options: options)
    try CrashReporter.set("cart", to: "3 things")
    try CrashReporter.set("user", to: "gone")
    try CrashReporter.set("user", to: nil)
    try CrashReporter.note("opens the cart")
    do { try CrashReporter.start(directory: folder) } catch { print("twice: \(error)") }
    if folder.hasSuffix("/clean") { CrashReporter.stop() } else { checkout(CommandLine.arguments.count * 8) }
} else {
    let run = try CrashReporter.lastRun(in: folder, version: "1.0")
    print("run: \(run.map { "\($0.verdict), \($0.crashesInARow) in a row" } ?? "none"), report: \(run?.report != nil)")
    for report in try CrashReporter.reports(in: folder) {
        let snapshot = try report.snapshot()
        print("cause: \(snapshot.cause ?? "")")
        let mach = snapshot.machException
        print("exception: \(mach.map { "\($0.number) \($0.name ?? "") \($0.code) \($0.subcode)" } ?? "none")")
        for note in snapshot.notes { print("note: \(note.kind) \(note.key)=\(note.text)") }
        print("first: \(snapshot.stacks[0].symbolicated()[0].symbol?.name ?? "")")
        try report.markSent()
    }
    print("sent: \(try CrashReporter.reports(in: folder).map(\.isSent))")
    for report in try CrashReporter.reports(in: folder) { try report.delete() }
    print("left: \(try CrashReporter.reports(in: folder).count)")
}
END
# Optimized, because the package's own tests are not.
flags=(-c release -Xswiftc -g "${strict[@]}")
if ! swift_in "$work/consumer" build "${flags[@]}" >"$work/build.log" 2>&1; then
  grep -vE '^\[[0-9]+/[0-9]+\] Compiling' "$work/build.log"
  fail "a program with the package does not build"
  verdict
fi
# The second build has nothing to do.
swift_in "$work/consumer" build "${flags[@]}" >"$work/build.log" 2>&1 || fail "the second build fails: $(cat "$work/build.log")"
"$work/consumer/.build/release/consumer" >"$work/says" || fail "the program fails"
cat "$work/says"
grep -qx 'images are listed: true' "$work/says" || fail "a capture of the calling thread has not listed the images"
sed -n 2p "$work/says" | grep -E '^checkout\(\) in consumer \+ [0-9]+ \(main\.swift:4\)$' >/dev/null || fail "the first frame is not the caller"
grep -qx 'inlined: inlinedStep() (main.swift:6)' "$work/says" || fail "the inlined call has no name or place"
grep -qE '^(consumer_)?main in consumer \+ [0-9]+ \(main\.swift:10\)$' "$work/says" || fail "main is not on the stack"
grep -qE '^main: (consumer_)?main$' "$work/says" || fail "the main thread's stack does not begin in the caller"
grep -qx "version: $version" "$work/says" || fail "the program has another version"

# ---- the crash kit: a run that crashes, and the next one, which reads its report. Swift's own handler, which starts a
# debugger, is left out.
crasher=$work/consumer/.build/release/crasher
status=0
{ SWIFT_BACKTRACE=enable=no "$crasher" "$work/reports"; } >/dev/null 2>&1 || status=$?
[[ $status -eq 139 ]] || fail "the program that crashes ends with $status"
"$crasher" "$work/reports" look >"$work/says" || fail "the crash report cannot be read"
cat "$work/says"
diff - "$work/says" <<'END' || fail "the crash report"
run: crashed, 1 in a row, report: true
cause: SIGSEGV, the address is not mapped (SEGV_MAPERR), fault address 0x10: a null pointer and an offset
exception: none
note: value cart=3 things
note: breadcrumb =opens the cart
first: checkout(_:)
sent: [true]
left: 0
END
# The same report with the Mach exception that an Apple system's has.
{ SWIFT_BACKTRACE=enable=no "$crasher" "$work/reports"; } >/dev/null 2>&1 || :
report=$(echo "$work"/reports/*.raw)
python3 "$top/tests/crash/mach.py" "$report" "$work/mach.raw" 1 && mv "$work/mach.raw" "$report"
"$crasher" "$work/reports" look >"$work/says" || fail "the report of a Mach exception cannot be read"
grep -qx 'exception: 1 EXC_BAD_ACCESS 1 16' "$work/says" || fail "the Mach exception: $(cat "$work/says")"
mkdir "$work/run"
[[ $("$crasher" "$work/run/clean") == 'twice: busy, try again' ]] || fail "a run that ends cleanly"
"$crasher" "$work/run/clean" look >"$work/says" || fail "the directory of a clean run cannot be read"
printf 'run: ended, 0 in a row, report: false\nsent: []\nleft: 0\n' | diff - "$work/says" || fail "a clean run"
for example in "${examples[@]}"; do
  (cd "$work/run" && "$work/consumer/.build/release/readme${example##*.}") >"$work/says.${example##*.}" || fail "README's example fails: $(cat "$example")"
done
grep -q '(main.swift:' "$work/says.2" || fail "README's example of a capture prints no line: $(cat "$work/says.2")"
verdict
