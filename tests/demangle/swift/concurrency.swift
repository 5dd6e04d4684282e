// SPDX-License-Identifier: MIT
// Names for the demangler's tests: async functions and what becomes of them, actors, isolation, sending.

public struct Failure: Error { public var code: Int }

public func fetch(_ n: Int) async throws -> Int {
    try await Task.sleep(nanoseconds: 1)
    return n
}
public func typed(_ n: Int) async throws(Failure) -> Int {
    if n < 0 { throw Failure(code: n) }
    return await plain(n)
}
func plain(_ n: Int) async -> Int {
    await Task.yield()
    return n + 1
}
public func both() async throws -> Int {
    async let a = fetch(1)
    async let b = plain(2)
    return try await a + b
}
public func group() async -> Int {
    await withTaskGroup(of: Int.self) { group in
        for i in 0..<4 { group.addTask { await plain(i) } }
        var sum = 0
        for await one in group { sum += one }
        return sum
    }
}
public func throwing() async throws -> [String] {
    try await withThrowingTaskGroup(of: String.self, returning: [String].self) { group in
        group.addTask { "\(try await fetch(3))" }
        var all: [String] = []
        while let one = try await group.next() { all.append(one) }
        return all
    }
}
public func continued() async -> Int {
    await withCheckedContinuation { continuation in
        Task.detached { continuation.resume(returning: await plain(5)) }
    }
}

public actor Counter {
    private var value = 0
    public init() {}
    public init(start: Int) async { value = await plain(start) }
    public func add(_ n: Int) -> Int {
        value += n
        return value
    }
    public func later() async -> Int { await plain(value) }
    public nonisolated var name: String { "counter" }
    public nonisolated(nonsending) func caller() async -> Int { await plain(1) }
    public func take(_ other: isolated Counter) -> Int { other.value }
    isolated deinit { value = 0 }
}

@globalActor public actor Kitchen {
    public static let shared = Kitchen()
}
@Kitchen public var meals = 0
@Kitchen public func cook(_ f: @Kitchen () async -> Int) async -> Int { await f() + meals }
@MainActor public final class Screen: Sendable {
    public var title = ""
    public func show(_ f: @escaping @MainActor @Sendable (Screen) -> Void) { f(self) }
    nonisolated public func refresh() async -> String { await title }
}
public func isolated(to actor: isolated (any Actor)? = #isolation, _ n: Int) async -> Int { n }
public func erased(_ f: @escaping @isolated(any) @Sendable () async throws -> Void) { _ = f.isolation }
@concurrent public func elsewhere(_ f: nonisolated(nonsending) () async -> Int) async -> Int { await f() }
public func sending(_ a: sending Box, _ f: sending () -> Void) -> sending Box { a }
public final class Box { var n = 0 }

public struct Steps: AsyncSequence, Sendable {
    public struct Iterator: AsyncIteratorProtocol {
        var n = 3
        public mutating func next() async throws(Failure) -> Int? {
            if n == 0 { return nil }
            n -= 1
            return await plain(n)
        }
    }
    public func makeAsyncIterator() -> Iterator { Iterator() }
}
public func walk() async throws -> Int {
    var sum = 0
    for try await step in Steps() where step > 0 { sum += step }
    for await value in AsyncStream<Int>(unfolding: { await plain(-1) > 0 ? 1 : nil }) { sum += value }
    return sum
}
public protocol Service: Sendable {
    var ready: Bool { get async }
    func call(_ n: Int) async throws -> Int
    subscript(name: String) -> Int { get async throws }
}
public struct Local: Service {
    public var ready: Bool { get async { await plain(0) > 0 } }
    public func call(_ n: Int) async throws -> Int { try await fetch(n) }
    public subscript(name: String) -> Int { get async throws { try await fetch(name.count) } }
}
public func remote(_ s: any Service, _ t: some Service) async throws -> Int {
    let more = { (n: Int) async throws -> Int in try await s.call(n) + t["a"] }
    return try await more(3) + (s.ready ? 1 : 0)
}
public enum Context {
    @TaskLocal public static var id = 0
    static func with() async -> Int { await $id.withValue(3) { await plain(id) } }
}
public func recursive(_ n: Int) async -> Int { n == 0 ? 0 : await recursive(n - 1) + plain(n) }
public func generic<T: Sendable, E: Error>(_ t: T, _ f: @Sendable (T) async throws(E) -> T) async throws(E) -> T { try await f(t) }
public func convert(_ f: @escaping () -> Int) -> () async throws -> Int { f }

@main struct Program {
    static func main() async throws {
        let counter = await Counter(start: 1)
        print(try await both(), await group(), try await throwing(), await continued(), await counter.later())
        print(try await walk(), try await remote(Local(), Local()), await Context.with(), await recursive(3))
        print(try await generic(3) { await plain($0) }, try await convert { 3 }())
        print(await cook { await counter.add(1) }, await Screen().refresh())
    }
}
