// SPDX-License-Identifier: MIT
// Tests of stacks of this process: the calling thread, other threads, all threads.
import Foundation
import Testing
import Unspool

@inline(never) private func outer() throws -> Stack {
    let stack = try inner()
    return stack
}

private let innerLine = #line + 2
@inline(never) private func inner() throws -> Stack {
    let stack = try Stack.capture()
    return stack
}

@inline(never) private func recurse(_ depth: Int, limit: Int) throws -> Stack {
    let stack = depth == 0 ? try Stack.capture(limit: limit) : try recurse(depth - 1, limit: limit)
    return stack
}

@inline(never) private func waitToBeCaptured(_ started: DispatchSemaphore, _ end: DispatchSemaphore) {
    started.signal()
    end.wait()
}

/// Captures again when a thread did not answer in time: on two busy processors it may get none for that long.
private func untilAnswered<Value>(_ capture: () throws -> Value) throws -> Value {
    for _ in 0..<100 {
        do { return try capture() } catch let error as UnspoolError where error == .timeout {}
    }
    return try capture()
}

/// Calls `body` while another thread waits in `waitToBeCaptured`. Only one such thread exists at a time, because the
/// suite is serialized.
private func withWaitingThread(blockingSignals: Bool = false, _ body: () throws -> Void) rethrows {
    let started = DispatchSemaphore(value: 0)
    let end = DispatchSemaphore(value: 0)
    let ended = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
        // Otherwise the thread inherits the signal mask of the worker thread that runs the test.
        var signals = sigset_t()
        sigfillset(&signals)
        pthread_sigmask(blockingSignals ? SIG_BLOCK : SIG_UNBLOCK, &signals, nil)
        waitToBeCaptured(started, end)
        ended.signal()
    }
    started.wait()
    defer {
        end.signal()
        ended.wait()
    }
    try body()
}

private func findWaitingThread(by means: StopMeans) throws -> Stack? {
    try Stack.captureAll(by: means).first { names($0).contains { $0.contains("waitToBeCaptured") } }
}

/// Returns the names of the part of a stack that does not change while a thread waits.
private func waitingPart(_ stack: Stack) -> [String] { Array(names(stack).drop { !$0.contains("waitToBeCaptured") }) }

private func names(_ stack: Stack) -> [String] { stack.symbolicated().map { $0.symbol?.name ?? "" } }

@Suite(.serialized) struct CaptureTests {
    @Test("the calling thread's stack begins in the caller") func callingThreadBeginsInCaller() throws {
        // A prepared process knows where a stack ends.
        try Stack.prepare()
        let stack = try outer()
        let found = names(stack)
        #expect(found.count > 2)
        #expect(found.first?.contains("inner") == true)
        #expect(found.dropFirst().first?.contains("outer") == true)
        #expect(stack.first?.kind == .returnAddress)
        #expect(stack.stopReason == "the outermost frame was reached")
    }

    @Test("a frame has its image, symbol and source location") func frameHasImageSymbolAndLocation() throws {
        let frame = try #require(try inner().symbolicated().first)
        let symbol = try #require(frame.symbol)
        let image = try #require(frame.image)
        #expect(symbol.mangledName.hasPrefix("$s"))
        #expect(symbol.address < frame.callSite && frame.callSite < frame.address)
        #expect(frame.offset == frame.address - symbol.address)
        #expect(image.loadAddress < symbol.address)
        #expect(frame.location?.file == "CaptureTests.swift")
        #expect(frame.location?.line == innerLine)
        #expect(frame.description == "\(symbol.name) in \(image.name) + \(frame.offset ?? 0) (CaptureTests.swift:\(innerLine))")
    }

    @Test("the main thread's stack ends where the system began it") func mainThreadEndsAtItsStart() throws {
        let stack = try Stack.capture(.main)
        // The names on Linux and on Apple systems.
        #expect(["_start", "start"].contains(names(stack).last))
    }

    @Test("a thread is found by its id", arguments: [StopMeans.signal, .helper])
    func threadIsFoundByID(_ means: StopMeans) throws {
        try withWaitingThread {
            let waiting = try #require(try findWaitingThread(by: means))
            let thread = try #require(waiting.thread)
            #expect(!thread.isMain)
            let again = try Stack.capture(.thread(thread.id), by: means)
            #expect(waitingPart(again) == waitingPart(waiting))
            #expect(waitingPart(again).count > 1)
            #expect(again.stoppedNanoseconds > 0)
            #expect(again.thread == nil)
        }
    }

    @Test("all threads are captured, the main one first and the caller's from the caller") func allThreadsMainFirst() throws {
        let all = try Stack.captureAll(by: .helper)
        #expect(all.allSatisfy { $0.failure == nil })
        #expect(all.first?.thread?.isMain == true)
        #expect(Set(all.compactMap(\.thread?.id)).count == all.count)
        #expect(all.filter { names($0).first?.contains("allThreadsMainFirst") == true }.count == 1)
    }

    @Test("a thread that does not exist is an error") func missingThreadIsAnError() {
        let error = #expect(throws: UnspoolError.self) { try Stack.capture(.thread(.max)) }
        #expect(error == .noThread)
        #expect(error?.message.isEmpty == false)
        #expect(throws: UnspoolError.noThread) { try Stack.capture(.thread(.max), by: .helper) }
    }

    #if os(Linux)
        @Test("a thread that blocks every signal is reached by the helper alone") func blockedThread() throws {
            try withWaitingThread(blockingSignals: true) {
                let waiting = try #require(try findWaitingThread(by: .helper))
                let id = try #require(waiting.thread?.id)
                #expect(throws: UnspoolError.timeout) { try Stack.capture(.thread(id)) }
                let listed = try #require(try Stack.captureAll().first { $0.thread?.id == id })
                #expect(listed.failure == .timeout)
                #expect(listed.isEmpty)
            }
        }
    #endif

    @Test("of a deep stack the middle is left out") func deepStackLosesItsMiddle() throws {
        let stack = try recurse(1000, limit: 64)
        #expect(stack.count == 64)
        #expect(stack.omitted > 900)
        #expect(stack.omittedAt == 48)
        #expect(stack.stopReason == "the outermost frame was reached")
        #expect(stack.description.contains("\n    \(stack.omitted) frames left out\n48 "))
    }

    @Test("a stack that was encoded and decoded is the same") func decodedStackIsEqual() throws {
        let stack = try outer().symbolicated()
        let decoded = try JSONDecoder().decode(Stack.self, from: try JSONEncoder().encode(stack))
        #expect(decoded == stack)
        #expect(decoded.symbolicated() == stack)
        // Without its process, a stack's addresses cannot be symbolicated.
        let bare = try JSONDecoder().decode(Stack.self, from: try JSONEncoder().encode(try outer()))
        #expect(bare.symbolicated().allSatisfy { $0.symbol == nil })
    }

    @Test("many tasks may capture at one time") func manyTasksCaptureAtOnce() async throws {
        let counts = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<32 {
                group.addTask {
                    try untilAnswered { try Stack.capture(.main).symbolicated().count + Stack.captureAll().count }
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(counts.count == 32)
        #expect(counts.allSatisfy { $0 > 1 })
    }
}
