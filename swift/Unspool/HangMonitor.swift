// SPDX-License-Identifier: MIT
// A monitor that finds hangs of a loop. What it watches the main thread by stands in MainLoop.swift.
internal import CUnspool
internal import Dispatch

/// Watches each turn of a loop, and finds turns that do not end.
///
///     let monitor = try HangMonitor.start(.main) { hang in print(hang) }
///
/// It runs until ``stop()``. Where threads cannot be captured (watchOS, Rosetta), hangs have a duration and no stacks.
public final class HangMonitor: @unchecked Sendable {
    /// What is watched.
    public enum Target: Sendable, Hashable {
        /// The main thread: its run loop on Apple systems; elsewhere the main queue, which the main thread serves when it runs
        /// `RunLoop.main`.
        case main
        /// The main queue in a program without a main run loop (`dispatchMain()`, an asynchronous `main` on Linux), whose work
        /// runs on any thread. Hangs have a duration, and all threads once.
        case mainQueue
        /// A loop of a thread that calls ``HangMonitor/turnBegan()`` and ``HangMonitor/waits()``.
        case loop(of: ThreadSelection)
    }

    /// Thresholds and times are in nanoseconds.
    public struct Options: Sendable, Hashable {
        /// A turn that lasts for so long is late: its stack is sampled from then on.
        public var late: UInt64
        /// One that lasts for so long is a hang. More than ``late``.
        public var hang: UInt64
        /// And for so long a severe one.
        public var severe: UInt64
        /// Between samples, at most ``late``.
        public var interval: UInt64
        /// Between two reports of a hang that goes on.
        public var update: UInt64
        /// Where a hang is kept, so that it is found when the process was killed meanwhile.
        public var file: String?
        /// Whether hangs are reported while they last too: when one begins, from time to time, and when it becomes severe.
        public var reportsWhileItLasts: Bool
        /// Whether hangs are reported although a debugger holds the process.
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

    /// What was counted since the start.
    public struct Statistics: Sendable, Hashable {
        /// Turns that were reported.
        public var turns: UInt64
        /// Turns that were late, hangs included.
        public var late: UInt64
        /// Turns that lasted for as long as a hang.
        public var hangs: UInt64
        /// Hangs that were none: the thread waited in its loop, or a debugger held the process.
        public var excused: UInt64
        /// How often the monitor's thread looked.
        public var looks: UInt64
        /// How often the monitor's thread went to sleep because nothing happened.
        public var sleeps: UInt64
    }

    /// Set before anything else can use it, then never changed.
    private(set) var monitor: OpaquePointer?
    private let options: Options
    private let onHang: @Sendable (Hang) -> Void
    /// Protects what follows.
    private let lock = DispatchSemaphore(value: 1)
    private var isKept = false
    private var mainLoop: MainLoop?

    /// Starts watching.
    /// - Parameters:
    ///   - target: What is watched.
    ///   - options: What counts as a hang, and what is reported of it.
    ///   - onHang: Called when a hang has ended, and once when ``Options/file`` holds a hang in which an earlier process was
    ///     killed; while it lasts with ``Options/reportsWhileItLasts``. It is called on the monitor's thread, for one hang after
    ///     the other, and may not wait for what is watched.
    /// - Throws: ``UnspoolError``, such as a status of `USP_ERROR_ARGUMENT` for thresholds that make no sense, and why the file
    ///   cannot be made.
    @discardableResult
    public static func start(
        _ target: Target = .main, options: Options = Options(), onHang: @escaping @Sendable (Hang) -> Void
    ) throws(UnspoolError) -> HangMonitor {
        let made = HangMonitor(options, onHang)
        try made.create(target)
        try made.run(target)
        return made
    }

    /// Stops watching. Returns when the function that gets hangs does not run any more; called by that function, it takes effect
    /// later. A hang that goes on is reported as abandoned.
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

    /// A turn of the loop begins. Costs some tens of nanoseconds and no system call, but for the turn that wakes the monitor's
    /// thread. For ``Target/loop(of:)`` and one thread at a time, as the next two.
    @inline(__always)
    public func turnBegan() { usp_monitor_turn_begin(monitor) }

    /// The turn has ended, and nothing else begins yet.
    @inline(__always)
    public func turnEnded() { usp_monitor_turn_end(monitor) }

    /// The loop waits for something to do.
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

    /// It does not run: it would be kept.
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

    /// It is kept as long as it runs.
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
        // The function may have stopped it already.
        if isKept { mainLoop = MainLoop(self) }
        lock.signal()
    }

    private static func from(_ context: UnsafeMutableRawPointer?) -> HangMonitor {
        Unmanaged<HangMonitor>.fromOpaque(context!).takeUnretainedValue()
    }

    private func report(_ hang: UnsafePointer<usp_hang>?) {
        if let hang, let made = Hang(hang) { onHang(made) }
    }

    /// The answer keeps the monitor until it has come.
    private func askMainQueue() { DispatchQueue.main.async { usp_monitor_answer(self.monitor) } }

    /// 0: the main thread.
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

private func withOptionalCString<Result>(_ text: String?, _ body: (UnsafePointer<CChar>?) -> Result) -> Result {
    guard let text else { return body(nil) }
    return text.withCString { body($0) }
}
