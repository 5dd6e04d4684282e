// SPDX-License-Identifier: MIT
// Tests of the hang monitor: a thread's loop with two calls, and the main queue. When the machine does not run the
// monitor, that time is not counted and a hang may be missed; the test then tries again.
import Foundation
import Testing
import Unspool

@inline(never) private func culprit(_ seconds: Double) {
    let end = Date().timeIntervalSinceReferenceDate + seconds
    while Date().timeIntervalSinceReferenceDate < end {}
}

/// Collects hangs as they are reported.
private final class Reports: @unchecked Sendable {
    private let lock = NSLock()
    private var hangs: [Hang] = []

    func add(_ hang: Hang) { lock.withLock { hangs.append(hang) } }
    var all: [Hang] { lock.withLock { hangs } }
}

/// Runs a loop on a thread of its own that accepts signals. Returns when the loop has ended.
private func onLoop(_ body: @escaping @Sendable () -> Void) {
    let ended = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
        #if os(Linux)
            var signals = sigset_t()
            sigfillset(&signals)
            pthread_sigmask(SIG_UNBLOCK, &signals, nil)
        #endif
        body()
        ended.signal()
    }
    ended.wait()
}

/// Runs a loop that waits nearly all of the time.
private func live(_ monitor: HangMonitor, _ seconds: Double) {
    for _ in 0..<Int(seconds / 0.01) {
        monitor.turnBegan()
        monitor.waits()
        Thread.sleep(forTimeInterval: 0.01)
    }
}

@Suite(.serialized) struct HangTests {
    @Test("a hang of 400 ms is found, with the culprit in its heaviest stack") func hangIsFound() throws {
        let reports = Reports()
        onLoop {
            guard let monitor = try? HangMonitor.start(.loop(of: .current), onHang: { reports.add($0) }) else { return }
            for _ in 0..<10 where reports.all.isEmpty {
                live(monitor, 0.3)
                monitor.turnBegan()
                culprit(0.4)
                monitor.turnEnded()
                live(monitor, 0.3)
            }
            monitor.stop()
        }
        let hang = try #require(reports.all.first)
        #expect(reports.all.count == 1)
        #expect(hang.id == 1)
        #expect(hang.state == .recovered)
        #expect(!hang.isSevere)
        #expect((250_000_000...2_000_000_000).contains(hang.duration + hang.takenOff))
        #expect(hang.samples > 0)
        #expect((hang.wallStart ?? 0) > 1_600_000_000_000_000_000)
        for stack in [hang.heaviestStack, hang.firstStack] {
            let names = try #require(stack).symbolicated().compactMap { $0.symbol?.name }
            #expect(names.contains { $0.contains("culprit") })
        }
        #expect(hang.description.contains("culprit"))
        // Source lines are there on request; the tests have debug information.
        #expect(!hang.formatted().contains("HangTests.swift:"))
        #expect(hang.formatted(lines: true).contains("HangTests.swift:"))
        let json = try JSONSerialization.jsonObject(with: Data(hang.formatted(.json).utf8))
        #expect((json as? [String: Any])?["state"] as? String == "recovered")
    }

    @Test("a healthy loop has no hang, and a loop that waits for long has none") func healthyLoop() throws {
        let reports = Reports()
        var options = HangMonitor.Options()
        // A high threshold, so that a machine that does not run the loop for a second causes no hang.
        options.hang = 20_000_000_000
        options.severe = 20_000_000_000
        let monitor = try HangMonitor.start(.loop(of: .main), options: options) { reports.add($0) }
        live(monitor, 1)
        Thread.sleep(forTimeInterval: 1.5)
        let statistics = monitor.statistics
        monitor.stop()
        #expect(statistics.turns >= 90)
        #expect(statistics.hangs == 0)
        #expect(statistics.sleeps >= 1)
        #expect(reports.all.isEmpty)
        // A loop may report turns after the monitor was stopped.
        live(monitor, 0.1)
    }

    @Test("while it lasts, a hang is reported with one id; stopped by its function, it is abandoned") func stopInside() throws {
        let reports = Reports()
        var options = HangMonitor.Options()
        options.reportsWhileItLasts = true
        options.update = 100_000_000
        onLoop { [options] in
            let kept = Kept()
            guard
                let monitor = try? HangMonitor.start(
                    .loop(of: .current), options: options,
                    onHang: {
                        reports.add($0)
                        if reports.all.count == 3 { kept.monitor?.stop() }
                    })
            else { return }
            kept.monitor = monitor
            monitor.turnBegan()
            for _ in 0..<600 where reports.all.last?.state != .abandoned { culprit(0.1) }
            monitor.stop()
            kept.monitor = nil
        }
        #expect(reports.all.count >= 4)
        #expect(reports.all.allSatisfy { $0.id == reports.all[0].id })
        #expect(reports.all.last?.state == .abandoned)
        #expect(reports.all.dropLast().allSatisfy { $0.state == .ongoing })
        #expect(zip(reports.all, reports.all.dropFirst()).allSatisfy { $0.duration <= $1.duration })
    }

    #if os(Linux)
        // On Linux the tests' main thread has no run loop, and worker threads serve the main queue.
        @Test("a hang of the main queue is found") func mainQueue() throws {
            let reports = Reports()
            let monitor = try HangMonitor.start(.mainQueue) { reports.add($0) }
            let done = DispatchSemaphore(value: 0)
            for _ in 0..<10 where reports.all.isEmpty {
                Thread.sleep(forTimeInterval: 0.5)
                DispatchQueue.main.async {
                    culprit(0.7)
                    done.signal()
                }
                done.wait()
                Thread.sleep(forTimeInterval: 0.3)
            }
            monitor.stop()
            let hang = try #require(reports.all.first)
            #expect(hang.duration >= 250_000_000)
            #expect(hang.samples == 0)
            #expect(hang.heaviestStack == nil)
            #expect(!hang.description.isEmpty)
        }
    #endif

    @Test("thresholds that make no sense and files that cannot be made are errors") func errors() {
        var options = HangMonitor.Options()
        options.hang = options.late
        #expect(throws: UnspoolError.self) { try HangMonitor.start(.main, options: options) { _ in } }
        options = HangMonitor.Options()
        options.file = "/no/such/folder/hang"
        #expect(throws: UnspoolError.self) { try HangMonitor.start(.main, options: options) { _ in } }
        #expect(throws: UnspoolError.noThread) { try HangMonitor.start(.loop(of: .thread(1 << 40))) { _ in } }
    }

    @Test("monitors start and stop, several at one time") func startsAndStops() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<16 {
                group.addTask {
                    for target in [HangMonitor.Target.main, .mainQueue, .loop(of: .main)] {
                        let monitor = try HangMonitor.start(target) { _ in }
                        monitor.stop()
                        monitor.stop()
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}

private final class Kept: @unchecked Sendable {
    private let lock = NSLock()
    private var kept: HangMonitor?

    var monitor: HangMonitor? {
        get { lock.withLock { kept } }
        set { lock.withLock { kept = newValue } }
    }
}
