// SPDX-License-Identifier: MIT
// Reports the main thread's turns to its monitor: by observers of the main run loop on Apple systems. On other systems
// the main queue answers pings (HangMonitor.swift).
internal import CUnspool

#if canImport(Darwin)
    internal import CoreFoundation
    internal import Dispatch

    /// Observers of the main run loop, in the common modes and in all modes that exist when they are created.
    final class MainLoop: @unchecked Sendable {
        static let observes = true

        private let observers: [CFRunLoopObserver]

        init(_ monitor: HangMonitor) {
            // A loop that always has work does not wait: each of its turns begins with beforeTimers. The code after a
            // loop's exit is a turn too: AppKit leaves its loop for each event, and a nested loop returns to an outer
            // turn.
            let begins: CFRunLoopActivity = [.entry, .beforeTimers, .afterWaiting, .exit]
            // The first of all observers and the last one, so that the work of the others is part of the turn.
            let first = CFRunLoopObserverCreateWithHandler(nil, begins.rawValue, true, CFIndex.min) { _, _ in monitor.turnBegan() }
            let last = CFRunLoopObserverCreateWithHandler(nil, CFRunLoopActivity.beforeWaiting.rawValue, true, CFIndex.max) { _, _ in
                _ = usp_monitor_learn_wait(monitor.monitor)
                monitor.waits()
            }
            observers = [first, last].compactMap { $0 }
            let loop = CFRunLoopGetMain()
            for observer in observers {
                CFRunLoopAddObserver(loop, observer, CFRunLoopMode.commonModes)
                // An observer that a mode already has is not added again.
                guard let modes = CFRunLoopCopyAllModes(loop) else { continue }
                for index in 0..<CFArrayGetCount(modes) {
                    guard let name = CFArrayGetValueAtIndex(modes, index) else { continue }
                    let mode = Unmanaged<CFString>.fromOpaque(name).takeUnretainedValue()
                    CFRunLoopAddObserver(loop, observer, CFRunLoopMode(rawValue: mode))
                }
            }
        }

        /// Removes the observers on the main thread, because it may be running one of them now.
        func end() {
            DispatchQueue.main.async { for observer in self.observers { CFRunLoopObserverInvalidate(observer) } }
        }
    }
#else
    /// Empty: there is no run loop to observe.
    final class MainLoop: Sendable {
        static let observes = false

        init(_ monitor: HangMonitor) {}

        func end() {}
    }
#endif
