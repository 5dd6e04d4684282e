// SPDX-License-Identifier: MIT
// A monitor that finds hangs of a loop. MainLoop.swift watches the main thread for it.
internal import CUnspool
internal import Dispatch

/// Watches each turn of a loop, and finds turns that take too long.
///
///     let monitor = try HangMonitor.start(.main) { hang in print(hang) }
///
/// It runs until ``stop()``. Where threads cannot be captured (watchOS, Rosetta), hangs have a duration but no stacks.
public final class HangMonitor: @unchecked Sendable {
    /// The loop or queue that a monitor watches.
    public enum Target: Sendable, Hashable {
        /// The main thread. On Apple systems, its run loop is watched. On other systems, the main queue is watched,
        /// which the main thread serves when it runs `RunLoop.main`.
        case main
        /// The main queue in a program without a main run loop (`dispatchMain()`, an asynchronous `main` on Linux). Its
        /// work runs on any thread. Its hangs have a duration and one snapshot of all threads.
        case mainQueue
        /// The loop of a thread that calls ``HangMonitor/turnBegan()`` and ``HangMonitor/waits()``.
        case loop(of: ThreadSelection)
    }

    /// Options of a monitor. Thresholds and times are in nanoseconds.
    public struct Options: Sendable, Hashable {
        /// A turn that lasts this long is late; from then on the stack is sampled.
        public var late: UInt64
        /// A turn that lasts this long is a hang. More than ``late``.
        public var hang: UInt64
        /// A hang that lasts this long is severe.
        public var severe: UInt64
        /// The time between samples, at most ``late``.
        public var interval: UInt64
        /// The time between two reports of an ongoing hang.
        public var update: UInt64
        /// Path of a file that preserves the hang during which the process is killed. Nil: no file.
        public var file: String?
        /// Whether hangs are also reported while they last: when one begins, periodically, and when it becomes severe.
        public var reportsWhileItLasts: Bool
        /// Whether hangs are reported even while a debugger traces the process.
        public var watchesWhileTraced: Bool

        public init() {
            var defaults = usp_monitor_options()
            usp_monitor_options_init(&defaults)
            late = defaults.late
            hang = defaults.hang
            severe = defaults.severe
            interval = defaults.interval
            update = defaults.update
            file = nil
            reportsWhileItLasts = false
            watchesWhileTraced = false
        }
    }

    /// Counts since the start.
    public struct Statistics: Sendable, Hashable {
        /// Reported turns.
        public var turns: UInt64
        /// Late turns, including hangs.
        public var late: UInt64
        /// Hangs, except those that a debugger excused.
        public var hangs: UInt64
        /// Late turns and hangs that turned out to be none: the thread waited in its loop, or a debugger held the
        /// process.
        public var excused: UInt64
        /// How many times the monitor's thread checked.
        public var looks: UInt64
        /// How many times the monitor's thread went to sleep because nothing happened.
        public var sleeps: UInt64
    }

    /// Set before other code can use it, then never changed.
    private(set) var monitor: OpaquePointer?
    private let options: Options
    private let onHang: @Sendable (Hang) -> Void
    /// Protects `isKept` and `mainLoop`.
    private let lock = DispatchSemaphore(value: 1)
    private var isKept = false
    private var mainLoop: MainLoop?

    /// Starts watching.
    /// - Parameters:
    ///   - target: The loop or queue to watch.
    ///   - options: Thresholds, and what is reported.
    ///   - onHang: Called when a hang has ended, and once when ``Options/file`` contains a hang during which an earlier
    ///             process was killed. With ``Options/reportsWhileItLasts`` it is also called while the hang lasts. The
    ///             monitor calls it on its own thread, for one hang after the other. It must not wait for the target.
    /// - Throws: ``UnspoolError``, such as `USP_ERROR_ARGUMENT` for invalid thresholds, or the reason why the file
    ///   cannot be created.
    @discardableResult
    public static func start(
        _ target: Target = .main, options: Options = Options(), onHang: @escaping @Sendable (Hang) -> Void
    ) throws(UnspoolError) -> HangMonitor {
        let made = HangMonitor(options, onHang)
        try made.create(target)
        try made.run(target)
        return made
    }

    /// Stops watching. When it returns, `onHang` is not running any more. If `onHang` calls it, it takes effect later.
    /// An ongoing hang is reported as abandoned.
    public func stop() {
        if usp_monitor_stop(monitor) == USP_ERROR_BUSY.rawValue {
            DispatchQueue.global().async { self.stop() }
            return
        }
        lock.wait()
        let wasKept = isKept
        isKept = false
        mainLoop?.end()
        mainLoop = nil
        lock.signal()
        if wasKept { Unmanaged.passUnretained(self).release() }
    }

    /// Reports that a turn of the loop begins. Costs some tens of nanoseconds and no system call, except when it has to
    /// wake the monitor's thread. This and the next two functions are for ``Target/loop(of:)`` and for one thread at a
    /// time.
    @inline(__always)
    public func turnBegan() { usp_monitor_turn_begin(monitor) }

    /// Reports that the turn has ended and no other begins yet.
    @inline(__always)
    public func turnEnded() { usp_monitor_turn_end(monitor) }

    /// Reports that the loop waits for work.
    @inline(__always)
    public func waits() { usp_monitor_waiting(monitor) }

    public var statistics: Statistics {
        var counted = usp_monitor_statistics()
        usp_monitor_get_statistics(monitor, &counted)
        return Statistics(
            turns: counted.turns, late: counted.late, hangs: counted.hangs, excused: counted.excused, looks: counted.looks,
            sleeps: counted.sleeps)
    }

    private init(_ options: Options, _ onHang: @escaping @Sendable (Hang) -> Void) {
        self.options = options
        self.onHang = onHang
    }

    /// The monitor is stopped here, because a running monitor keeps a reference to itself.
    deinit { usp_monitor_free(monitor) }

    private func create(_ target: Target) throws(UnspoolError) {
        var wanted = usp_monitor_options()
        usp_monitor_options_init(&wanted)
        wanted.late = options.late
        wanted.hang = options.hang
        wanted.severe = options.severe
        wanted.interval = options.interval
        wanted.update = options.update
        wanted.idle = Swift.max(wanted.idle, options.late)
        if options.watchesWhileTraced { wanted.flags |= USP_MONITOR_WHILE_TRACED.rawValue }
        wanted.context = Unmanaged.passUnretained(self).toOpaque()
        wanted.ended = { HangMonitor.from($0).report($1) }
        wanted.killed = { HangMonitor.from($0).report($1) }
        if options.reportsWhileItLasts {
            wanted.began = { HangMonitor.from($0).report($1) }
            wanted.updated = { HangMonitor.from($0).report($1) }
        }
        switch target {
        case .main:
            if !MainLoop.observes { wanted.ping = { HangMonitor.from($0).askMainQueue() } }
        case .mainQueue:
            wanted.ping = { HangMonitor.from($0).askMainQueue() }
            wanted.flags |= USP_MONITOR_QUEUE.rawValue
        case .loop(of: let selection): wanted.thread.id = try Self.id(of: selection)
        }
        let status = withOptionalCString(options.file) { file in
            wanted.file = file
            return usp_monitor_create(&wanted, &monitor)
        }
        try check(status)
    }

    /// Starts the monitor, which keeps a reference to itself while it runs.
    private func run(_ target: Target) throws(UnspoolError) {
        _ = Unmanaged.passRetained(self)
        isKept = true
        let status = usp_monitor_start(monitor)
        guard status == USP_OK.rawValue else {
            stop()
            throw UnspoolError(status: status)
        }
        guard target == .main, MainLoop.observes else { return }
        lock.wait()
        // `onHang` may have stopped it already.
        if isKept { mainLoop = MainLoop(self) }
        lock.signal()
    }

    private static func from(_ context: UnsafeMutableRawPointer?) -> HangMonitor {
        Unmanaged<HangMonitor>.fromOpaque(context!).takeUnretainedValue()
    }

    private func report(_ hang: UnsafePointer<usp_hang>?) {
        if let hang, let made = Hang(hang) { onHang(made) }
    }

    /// Asks the main queue to answer. The closure retains the monitor until then.
    private func askMainQueue() { DispatchQueue.main.async { usp_monitor_answer(self.monitor) } }

    /// Returns a thread's id; 0 stands for the main thread.
    private static func id(of selection: ThreadSelection) throws(UnspoolError) -> UInt64 {
        switch selection {
        case .main: return 0
        case .thread(let id): return id
        case .current:
            var own = usp_thread()
            try check(usp_thread_self(&own))
            defer { usp_thread_release(&own) }
            return own.id
        }
    }
}
