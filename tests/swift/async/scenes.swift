// SPDX-License-Identifier: MIT
// Async functions that know which functions await them: each passes its callers' names on, and the innermost one has
// the thread's stack captured (observe.c). `scenes` runs all, `scenes NAME` stops in one. With COMPARE, Swift's own
// unwinder is used too. In optimized programs it takes functions without an async record for async frames, which can
// end the program.
#if COMPARE
import Runtime
#endif

@_silgen_name("observe_here") func observeHere(_ scene: UnsafePointer<CChar>, _ truth: UnsafePointer<CChar>)
@_silgen_name("observe_from_outside")
func observeFromOutside(_ scene: UnsafePointer<CChar>, _ truth: UnsafePointer<CChar>)

struct Trace: Sendable {
    let scene: String
    var names: [String] = []
    let isParked: Bool
    /// Returns the trace that the function `name` passes on: its name comes before the others.
    func from(_ name: String) -> Trace { Trace(scene: scene, names: [name] + names, isParked: isParked) }
}

@inline(never) func observe(_ trace: Trace) {
    let truth = trace.names.joined(separator: ";")
    if trace.isParked {
        #if COMPARE
        // For tools.sh: all frames, as a line before the one on which the program stands.
        let names = swiftFrames { _ in true }
        print("frames\t\(names.joined(separator: ";"))")
        #endif
        observeFromOutside(trace.scene, truth)
        return
    }
    observeHere(trace.scene, truth)
    #if COMPARE
    let names = swiftFrames { if case .asyncResumePoint = $0 { true } else { false } }
    print("swift\t\(trace.scene)\t\(truth)\t\t\(names.joined(separator: ";"))\t")
    #endif
}

#if COMPARE
/// Returns the mangled names of this stack's frames as Swift's own unwinder finds them: those that are wanted.
@inline(never) func swiftFrames(_ isWanted: (Backtrace.Frame) -> Bool) -> [String] {
    guard let stack = try? Backtrace.capture(algorithm: .fast), let named = stack.symbolicated() else { return [] }
    return named.frames.filter { isWanted($0.captured) }.map { $0.symbol?.rawName ?? "?\($0.captured.originalProgramCounter)" }
}
#endif

// ---- deep chains, generic ones, throwing ones

@inline(never) func deep(_ n: Int, _ trace: Trace) async -> Int {
    if n == 0 {
        await Task.yield()
        observe(trace.from("deep"))
        return 1
    }
    return await deep(n - 1, trace.from("deep")) + n
}

@inline(never) func generic<T: Sendable>(_ value: T, _ trace: Trace) async -> [T] {
    let below = await deep(2, trace.from("generic"))
    return Array(repeating: value, count: below)
}

struct Failure: Error {}

@inline(never) func throwing(_ trace: Trace) async throws -> Int {
    let values = await generic("x", trace.from("throwing"))
    if values.isEmpty { throw Failure() }
    return values.count
}

@inline(never) func resumed(_ trace: Trace) async -> Int {
    let before = await deep(1, Trace(scene: "before", names: trace.from("resumed").names, isParked: false))
    observe(trace.from("resumed"))
    return before
}

@inline(never) func awaitsResumed(_ trace: Trace) async -> Int {
    let value = await resumed(trace.from("awaitsResumed"))
    return value + 1
}

// ---- async let, groups, detached tasks

@inline(never) func child(_ n: Int, _ trace: Trace) async -> Int { await deep(n, trace.from("child")) + 1 }

@inline(never) func asyncLet(_ trace: Trace) async -> Int {
    async let one = child(1, trace)
    let value = await one
    return value
}

@inline(never) func group(_ trace: Trace) async -> Int {
    await withTaskGroup(of: Int.self) { group in
        group.addTask { await child(2, trace) + 1 }
        var sum = 0
        for await value in group { sum += value }
        return sum
    }
}

@inline(never) func insideGroup(_ trace: Trace) async -> Int {
    let inner = trace.from("insideGroup")
    return await withTaskGroup(of: Int.self) { group in
        group.addTask { 1 }
        let value = await child(1, inner)
        return value + (await group.next() ?? 0)
    }
}

@inline(never) func detached(_ trace: Trace) async -> Int {
    let task = Task.detached { await child(0, trace) + 1 }
    return await task.value
}

// ---- actors

protocol Counting: Sendable { func count(_ trace: Trace) async -> Int }

actor Counter: Counting {
    var total = 0
    @inline(never) func count(_ trace: Trace) async -> Int {
        total += 1
        let step = await add(trace.from("Counter.count"))
        total += step
        return total
    }
    @inline(never) func add(_ trace: Trace) async -> Int {
        await Task.yield()
        observe(trace.from("Counter.add"))
        return 1
    }
}

@inline(never) func usesActor(_ trace: Trace) async -> Int {
    let counter = Counter()
    return await counter.count(trace.from("usesActor")) + 1
}

@MainActor @inline(never) func onMain(_ trace: Trace) async -> Int {
    await Task.yield()
    observe(trace.from("onMain"))
    return 1
}

@MainActor @inline(never) func awaitsOnMain(_ trace: Trace) async -> Int {
    let value = await onMain(trace.from("awaitsOnMain"))
    return value + 1
}

// ---- sequences and continuations

struct Numbers: AsyncSequence, AsyncIteratorProtocol {
    typealias Element = Int
    let trace: Trace
    var left = 1
    @inline(never) mutating func next() async -> Int? {
        if left == 0 { return nil }
        left -= 1
        await Task.yield()
        observe(trace.from("Numbers.next"))
        return 7
    }
    func makeAsyncIterator() -> Numbers { self }
}

@inline(never) func readsSequence(_ trace: Trace) async -> Int {
    var sum = 0
    for await number in Numbers(trace: trace.from("readsSequence")) { sum += number }
    return sum
}

@inline(never) func continued(_ trace: Trace) async -> Int {
    let value = await withCheckedContinuation { continuation in
        observe(trace.from("continued"))
        continuation.resume(returning: 3)
    }
    return value + 1
}

@inline(never) func afterContinuation(_ trace: Trace) async -> Int {
    let value: Int = await withCheckedContinuation { continuation in
        Task.detached { continuation.resume(returning: 3) }
    }
    observe(trace.from("afterContinuation"))
    return value
}

@inline(never) func awaitsContinuation(_ trace: Trace) async -> Int {
    let value = await continued(trace.from("awaitsContinuation"))
    return value + 1
}

@inline(never) func awaitsAfter(_ trace: Trace) async -> Int {
    let value = await afterContinuation(trace.from("awaitsAfter"))
    return value + 1
}

@main struct Scenes {
    static let all: [(String, @Sendable (Trace) async -> Int)] = [
        ("deep", { await deep(20, $0) }),
        ("throwing", { (try? await throwing($0)) ?? 0 }),
        ("resumed", { await awaitsResumed($0) }),
        ("asyncLet", { await asyncLet($0) }),
        ("group", { await group($0) }),
        ("insideGroup", { await insideGroup($0) }),
        ("detached", { await detached($0) }),
        ("actor", { await usesActor($0) }),
        ("main", { await awaitsOnMain($0) }),
        ("sequence", { await readsSequence($0) }),
        ("continuation", { await awaitsContinuation($0) }),
        ("afterContinuation", { await awaitsAfter($0) }),
    ]
    static func main() async {
        let wanted = CommandLine.arguments.dropFirst().first
        for (name, scene) in all where wanted == nil || wanted == name {
            _ = await Task.detached { await scene(Trace(scene: name, isParked: wanted != nil)) }.value
        }
    }
}
