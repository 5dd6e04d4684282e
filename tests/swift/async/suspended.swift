// SPDX-License-Identifier: MIT
// Tasks that stay suspended, each in another way. Before a task suspends, it writes a line with the program's functions
// that await it, innermost first: "task", a tab, the functions, a tab, what it waits for. At the end the program writes
// "ready".
import Dispatch
import Foundation

struct Trace: Sendable {
    var names: [String] = []
    /// Returns the trace that the function `name` passes on: its name comes before the others.
    func from(_ name: String) -> Trace { Trace(names: [name] + names) }
}

/// Number of tasks that have yet to report that they suspend.
nonisolated(unsafe) var open = 0
let lock = NSLock()

@inline(never) func say(_ trace: Trace, _ waitsFor: String) {
    lock.withLock {
        print("task\t\(trace.names.joined(separator: ";"))\t\(waitsFor)")
        fflush(nil)
        open -= 1
    }
}

// Continuations that stay open. They are kept, because the runtime ends a program that frees one.
nonisolated(unsafe) var kept: [UnsafeContinuation<Int, Never>] = []
nonisolated(unsafe) var keptThrowing: [CheckedContinuation<Int, any Error>] = []

@inline(never) func never(_ trace: Trace) async -> Int {
    let mine = trace.from("never")
    return await withUnsafeContinuation { continuation in
        say(mine, "continuation")
        lock.withLock { kept.append(continuation) }
    }
}

@inline(never) func neverThrowing(_ trace: Trace) async throws -> Int {
    let mine = trace.from("neverThrowing")
    return try await withCheckedThrowingContinuation { continuation in
        say(mine, "continuation")
        lock.withLock { keptThrowing.append(continuation) }
    }
}

@inline(never) func naps(_ trace: Trace) async throws -> Int {
    say(trace.from("naps"), "continuation")
    try await Task.sleep(nanoseconds: 3_600_000_000_000)
    return 1
}

@inline(never) func awaitsNap(_ trace: Trace) async -> Int {
    let value = (try? await naps(trace.from("awaitsNap"))) ?? 0
    return value + 1
}

@inline(never) func awaitsThrowing(_ trace: Trace) async -> Int {
    do {
        return try await neverThrowing(trace.from("awaitsThrowing")) + 1
    } catch {
        return 0
    }
}

@inline(never) func deep(_ n: Int, _ trace: Trace) async -> Int {
    if n == 0 { return await never(trace.from("deep")) + 1 }
    return await deep(n - 1, trace.from("deep")) + n
}

@inline(never) func generic<T: Sendable>(_ value: T, _ trace: Trace) async -> [T] {
    let count = await deep(2, trace.from("generic"))
    return Array(repeating: value, count: count)
}

@inline(never) func awaitsGeneric(_ trace: Trace) async -> Int {
    let values = await generic("x", trace.from("awaitsGeneric"))
    return values.count
}

// ---- children

@inline(never) func quick(_ n: Int) async -> Int {
    await Task.yield()
    return n
}

@inline(never) func asyncLet(_ trace: Trace) async -> Int {
    async let done = quick(1)
    let before = await done
    async let one = never(Trace())
    say(trace.from("asyncLet"), "task")
    let value = await one
    return value + before
}

@inline(never) func asyncLetThrowing(_ trace: Trace) async -> Int {
    async let one = neverThrowing(Trace())
    say(trace.from("asyncLetThrowing"), "task")
    return (try? await one) ?? 0
}

@inline(never) func group(_ trace: Trace) async -> Int {
    await withTaskGroup(of: Int.self) { group in
        group.addTask { await quick(1) }
        _ = await group.next()
        group.addTask { await never(Trace()) + 1 }
        group.addTask { await deep(1, Trace()) + 1 }
        say(trace.from("group"), "task-group")
        var sum = 0
        for await value in group { sum += value }
        return sum
    }
}

@inline(never) func otherTask(_ trace: Trace) async -> Int {
    let task = Task.detached { await never(Trace()) }
    say(trace.from("otherTask"), "task")
    return await task.value + 1
}

// ---- actors

actor Busy {
    var total = 0
    /// Occupies its thread and the actor for ever.
    func hold() { lock.withLock { open -= 1 }; while true { pause() } }
    @inline(never) func add() async -> Int {
        total += 1
        return total
    }
}

let busy = Busy()

@inline(never) func waitsForActor(_ trace: Trace) async -> Int {
    let mine = trace.from("waitsForActor")
    say(mine.from("Busy.add"), "executor")
    return await busy.add() + 1
}

struct Stream: AsyncSequence, AsyncIteratorProtocol {
    let trace: Trace
    @inline(never) mutating func next() async -> Int? { await never(trace.from("Stream.next")) }
    func makeAsyncIterator() -> Stream { self }
}

@inline(never) func readsSequence(_ trace: Trace) async -> Int {
    var sum = 0
    for await number in Stream(trace: trace.from("readsSequence")) { sum += number }
    return sum
}

@MainActor @inline(never) func onMain(_ trace: Trace) async -> Int { await never(trace.from("onMain")) + 1 }

@main struct Suspended {
    static func expect(_ count: Int) { lock.withLock { open += count } }
    static func wait() async {
        while lock.withLock({ open > 0 }) { try? await Task.sleep(nanoseconds: 1_000_000) }
    }

    static func main() async {
        // Tasks that have ended, some of which are kept.
        var ended: [Task<Int, Never>] = []
        for n in 0 ..< 200 {
            let task = Task.detached { await quick(n) }
            _ = await task.value
            if n % 2 == 0 { ended.append(task) }
        }
        let scenes: [(Int, @Sendable () async -> Int)] = [
            (1, { await awaitsNap(Trace()) }),
            (1, { await awaitsThrowing(Trace()) }),
            (1, { await deep(40, Trace()) }),
            (1, { await awaitsGeneric(Trace()) }),
            (2, { await asyncLet(Trace()) }),
            (2, { await asyncLetThrowing(Trace()) }),
            (3, { await group(Trace()) }),
            (2, { await otherTask(Trace()) }),
            (1, { await readsSequence(Trace()) }),
            (1, { await onMain(Trace()) }),
        ]
        var tasks: [Task<Int, Never>] = []
        for (count, scene) in scenes {
            expect(count)
            tasks.append(Task.detached(operation: scene))
        }
        for _ in 0 ..< 100 {
            expect(1)
            tasks.append(Task.detached { await never(Trace()) })
        }
        await wait()
        expect(1)
        Task.detached { await busy.hold() }
        await wait()
        expect(1)
        tasks.append(Task.detached { await waitsForActor(Trace()) })
        await wait()
        expect(1)
        // Waits until the tasks that reported have suspended.
        try? await Task.sleep(nanoseconds: 100_000_000)
        print("ready")
        fflush(nil)
        let mine = await never(Trace().from("static Suspended.main"))
        print(mine, tasks.count, ended.count)
    }
}
