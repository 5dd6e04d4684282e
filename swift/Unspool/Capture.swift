// SPDX-License-Identifier: MIT
// Stacks of threads of this process.
internal import CUnspool

/// Selects the thread of this process for ``Stack/capture(_:limit:by:)``.
public enum ThreadSelection: Sendable, Hashable {
    /// The calling thread.
    case current
    /// The process's main thread.
    case main
    /// The thread with this system-wide id, as in ``ThreadInfo/id``.
    case thread(UInt64)
}

/// How other threads of this process are stopped on Linux. On Apple systems both values select the system's own means.
public enum StopMeans: Sendable, Hashable {
    /// By a signal that is ignored by default. Threads that block every signal cannot answer, such as Dispatch's worker
    /// threads, on which Swift's tasks run.
    case signal
    /// By a helper process, which traces the threads and shares this process's memory, while the calling thread waits.
    /// It reaches threads that block every signal. The system has to allow `ptrace`.
    case helper
}

extension Stack {
    /// Reserves memory for captures of other threads, because nothing can be allocated while a thread is stopped. The
    /// first capture of another thread calls it if necessary. A program that watches for hangs calls it when it starts.
    public static func prepare() throws(UnspoolError) {
        try check(usp_prepare(nil))
    }

    /// Captures the stack of one thread of this process. The calling thread's stack begins in the caller.
    ///
    /// Another thread is stopped while its registers and the live part of its stack are copied. Not async-signal-safe.
    /// - Parameters:
    ///   - selection: The thread.
    ///   - limit: Maximum number of frames. The middle of a deeper stack is left out.
    ///   - means: How another thread is stopped.
    /// - Throws: ``UnspoolError``, such as ``UnspoolError/noThread`` when there is no such thread, and
    ///   ``UnspoolError/timeout`` when it did not answer to a signal.
    @inline(never)
    public static func capture(
        _ selection: ThreadSelection = .current, limit: Int = 512, by means: StopMeans = .signal
    ) throws(UnspoolError) -> Stack {
        let capacity = UInt32(clamping: Swift.max(limit, 2))
        let frames = UnsafeMutablePointer<usp_frame>.allocate(capacity: Int(capacity))
        defer { frames.deallocate() }
        var stack = usp_stack()
        usp_stack_init(&stack, frames, capacity)
        var options = usp_unwind_options()
        usp_unwind_options_init(&options)
        options.tail = capacity / 4
        options.async = 1

        var thread = usp_thread()
        switch selection {
        case .current: break
        case .main: try check(usp_thread_main(&thread))
        case .thread(let id): thread = try findThread(id)
        }
        defer { usp_thread_release(&thread) }
        if selection == .current || isCallingThread(thread) {
            // `usp_capture_self` is async-signal-safe, so it does not refresh the list of images itself.
            _ = usp_images_refresh()
            // Called from this function only, so that exactly one frame belongs to the module.
            options.skip = 1
            try check(usp_capture_self(&options, &stack))
        } else if means == .helper {
            return try captureByHelper(thread.id, limit: capacity)
        } else {
            if !usp_is_prepared() { try prepare() }
            try check(usp_capture_thread(&thread, &options, &stack))
        }
        return Stack(stack, origin: .thisProcess)
    }

    /// Captures the stacks of all threads of this process at one moment, the main thread's first. A thread that could
    /// not be stopped is in the list without frames; ``Stack/failure`` says why.
    /// - Parameter means: How the other threads are stopped.
    @inline(never)
    public static func captureAll(by means: StopMeans = .signal) throws(UnspoolError) -> [Stack] {
        if means == .signal, !usp_is_prepared() { try prepare() }
        var options = snapshotOptions(means)
        options.skip_own = 1
        var snapshot: OpaquePointer?
        try check(usp_snapshot_create_self(&options, &snapshot))
        return SnapshotStorage(snapshot!).stacks(origin: .thisProcess)
    }

    private static func isCallingThread(_ thread: usp_thread) -> Bool {
        var own = usp_thread()
        guard usp_thread_self(&own) == USP_OK.rawValue else { return false }
        defer { usp_thread_release(&own) }
        return own.id == thread.id
    }

    private static func captureByHelper(_ id: UInt64, limit: UInt32) throws(UnspoolError) -> Stack {
        var options = snapshotOptions(.helper)
        options.only_thread = id
        options.max_frames = limit
        options.unwind.tail = limit / 4
        var snapshot: OpaquePointer?
        try check(usp_snapshot_create_self(&options, &snapshot))
        guard var stack = SnapshotStorage(snapshot!).stacks(origin: .thisProcess).first else { throw .noThread }
        if let failure = stack.failure { throw failure }
        stack.thread = nil
        return stack
    }

    static func snapshotOptions(_ means: StopMeans) -> usp_snapshot_options {
        var options = usp_snapshot_options()
        usp_snapshot_options_init(&options)
        options.unwind.async = 1
        options.means = means == .helper ? USP_SNAPSHOT_BY_HELPER.rawValue : USP_SNAPSHOT_BY_SIGNALS.rawValue
        return options
    }

    /// Finds a thread by its id. The caller releases it.
    private static func findThread(_ id: UInt64) throws(UnspoolError) -> usp_thread {
        var found: usp_thread?
        for info in try threads() {
            var thread = info.thread
            if thread.id == id { found = thread } else { usp_thread_release(&thread) }
        }
        guard let found else { throw .noThread }
        return found
    }

    private static func threads() throws(UnspoolError) -> [usp_thread_info] {
        var capacity = 64
        while true {
            let infos = UnsafeMutablePointer<usp_thread_info>.allocate(capacity: capacity)
            defer { infos.deallocate() }
            var count = 0
            let status = usp_threads(infos, capacity, &count)
            if status != USP_ERROR_FULL.rawValue {
                try check(status)
                return Array(UnsafeBufferPointer(start: infos, count: count))
            }
            for index in 0..<capacity { usp_thread_release(&infos[index].thread) }
            // Threads may start between two calls.
            capacity = count + 16
        }
    }
}
