// SPDX-License-Identifier: MIT
// How the main thread tells its monitor what it does: by observers of the main run loop on Apple systems. Elsewhere the main queue
// answers pings (HangMonitor.swift).
internal import CUnspool

#if canImport(Darwin)
    internal import CoreFoundation
    internal import Dispatch

    /// Observers of the main run loop, in all modes that it has when they are made, and in the common ones.
    final class MainLoop: @unchecked Sendable {
        static let observes = true

        private let observers: [CFRunLoopObserver]

        init(_ monitor: HangMonitor) {
            // A loop that always has something to do does not wait: each of its rounds begins with beforeTimers. What follows a loop
            // that was left is a turn too: AppKit leaves its loop for each event, and a nested loop leaves an outer turn.
            let begins: CFRunLoopActivity = [.entry, .beforeTimers, .afterWaiting, .exit]
            // The first of all observers and the last: what others do is part of the turn.
            let first = CFRunLoopObserverCreateWithHandler(nil, begins.rawValue, true, CFIndex.min) { _, _ in monitor.turnBegan() }
            let last = CFRunLoopObserverCreateWithHandler(nil, CFRunLoopActivity.beforeWaiting.rawValue, true, CFIndex.max) { _, _ in
                _ = usp_monitor_learn_wait(monitor.monitor)
                monitor.waits()
            }
            observers = [first, last].compactMap { $0 }
            let loop = CFRunLoopGetMain()
            for observer in observers {
                CFRunLoopAddObserver(loop, observer, CFRunLoopMode.commonModes)
                // One that a mode has already is not added again.
                guard let modes = CFRunLoopCopyAllModes(loop) else { continue }
                for index in 0..<CFArrayGetCount(modes) {
                    guard let name = CFArrayGetValueAtIndex(modes, index) else { continue }
                    let mode = Unmanaged<CFString>.fromOpaque(name).takeUnretainedValue()
                    CFRunLoopAddObserver(loop, observer, CFRunLoopMode(rawValue: mode))
                }
            }
        }

        /// The main thread ends them, which may be in one of them now.
        func end() {
            DispatchQueue.main.async { for observer in self.observers { CFRunLoopObserverInvalidate(observer) } }
        }
    }
#else
    /// There is no run loop to be observed.
    final class MainLoop: Sendable {
        static let observes = false

        init(_ monitor: HangMonitor) {}

        func end() {}
    }
#endif
