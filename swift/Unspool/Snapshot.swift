// SPDX-License-Identifier: MIT
// All threads of a process or of a core file, at one moment.
internal import CUnspool

/// All threads of a process at one moment, with the data that symbolication needs. Its stacks are `Codable`.
///
///     let report = try Snapshot.ofProcess(pid).formatted(.crashReport)
public struct Snapshot: Sendable {
    /// How a snapshot is written as text.
    public enum Style: Sendable, Hashable, CaseIterable {
        /// Lines as of `Thread.callStackSymbols`.
        case callStackSymbols
        /// An Apple crash report: threads, their registers, Binary Images.
        case crashReport
        /// An object as `doc/schema/stacks.schema.json` describes it.
        case json
        /// A line for each stack, for flame graphs.
        case folded
    }

    private let storage: SnapshotStorage

    /// The stacks, the main thread's first. A thread that could not be stopped has no frames; ``Stack/failure`` says
    /// why.
    public let stacks: [Stack]
    /// The process id; nil when it is not known, as in some core files.
    public let processID: Int?
    /// Time from the first thread's stop until the last one's resumption, in nanoseconds; 0 for core files.
    public let stoppedNanoseconds: UInt64
    /// Messages for users about files that are missing or of another build, one sentence each.
    public let messages: [String]
    /// Crash reports, and core files of Linux: what ended the process, in words. Nil: not known.
    public let cause: String?
    /// Crash reports of Apple systems: the Mach exception that became the signal. Nil: there was none, or only the signal
    /// is known.
    public let machException: MachException?
    /// Crash reports (``CrashReporter``): what the program and the recorder have noted.
    public let notes: [Note]

    /// A Mach exception, as the kernel delivers it.
    public struct MachException: Sendable, Hashable {
        /// `exception_type_t`: 1 is `EXC_BAD_ACCESS`.
        public let number: UInt32
        /// Its name; nil: it has none.
        public let name: String?
        public let code: UInt64
        /// Of a bad access, the address.
        public let subcode: UInt64
    }

    /// A text in a crash report.
    public struct Note: Sendable, Hashable {
        public enum Kind: Sendable, Hashable {
            /// The last value that the program set for ``Note/key``.
            case value
            /// What the program did, the oldest first.
            case breadcrumb
            /// What the program's callback wrote after the crash.
            case callback
            /// What the recorder says about the report, such as threads that are missing.
            case recorder
            /// What the C library or a language's runtime says about the crash; ``Note/key`` names the message.
            case message
        }

        public let kind: Kind
        /// When it was set, in nanoseconds since 1970; nil: not known.
        public let time: UInt64?
        /// Empty except for values and messages.
        public let key: String
        public let text: String
    }

    /// Captures another process on this machine. It is usually stopped for less than a millisecond. If the caller dies,
    /// the process is neither killed nor left stopped.
    /// - Throws: ``UnspoolError``, such as ``UnspoolError/permission``, with a sentence that says what to do.
    public static func ofProcess(_ pid: Int) throws(UnspoolError) -> Snapshot {
        try make { options, snapshot, message, size in
            usp_snapshot_create_process(Int64(pid), options, snapshot, message, size)
        }
    }

    /// Captures all threads of this process. The calling thread's stack begins in the caller.
    /// - Parameter means: How the other threads are stopped.
    @inline(never)
    public static func ofThisProcess(by means: StopMeans = .signal) throws(UnspoolError) -> Snapshot {
        if means == .signal, !usp_is_prepared() { try Stack.prepare() }
        var options = Stack.snapshotOptions(means)
        options.skip_own = 1
        var snapshot: OpaquePointer?
        try check(usp_snapshot_create_self(&options, &snapshot))
        return Snapshot(SnapshotStorage(snapshot!))
    }

    /// Reads a raw capture, which `usp_raw_write` has written, for instance in a crash handler. A capture that is cut off
    /// has its whole threads, and ``messages`` says so.
    public static func ofRawCapture(path: String) throws(UnspoolError) -> Snapshot {
        try make { options, snapshot, message, size in usp_snapshot_open_raw(path, options, snapshot, message, size) }
    }

    /// Reads a report of the crash kit (``CrashReporter/Report/snapshot()``).
    static func ofCrashReport(directory: String, name: String) throws(UnspoolError) -> Snapshot {
        try make { _, snapshot, message, size in usp_crash_open(directory, name, snapshot, message, size) }
    }

    /// Reads a core file, ELF or Mach-O, of any of the five processors.
    public static func ofCore(path: String) throws(UnspoolError) -> Snapshot {
        try make { options, snapshot, message, size in usp_snapshot_open_core(path, options, snapshot, message, size) }
    }

    /// The snapshot as symbolicated text.
    public func formatted(_ style: Style) -> String {
        let demangler = Demangler()
        var options = usp_format_options()
        usp_format_options_init(&options)
        options.style = style.number
        options.symbolizer = storage.symbolizer?.symbolizer
        options.demangler = demangler.demangler
        // Fails only when the writer fails, and this writer never does.
        return collectText { write, context in _ = usp_format_snapshot(storage.snapshot, &options, write, context) }
    }

    private typealias Creator = (
        UnsafePointer<usp_snapshot_options>, UnsafeMutablePointer<OpaquePointer?>, UnsafeMutablePointer<CChar>, Int
    ) -> Int32

    private static func make(_ create: Creator) throws(UnspoolError) -> Snapshot {
        var options = usp_snapshot_options()
        usp_snapshot_options_init(&options)
        options.unwind.async = 1
        var snapshot: OpaquePointer?
        let capacity = 512
        let message = UnsafeMutablePointer<CChar>.allocate(capacity: capacity)
        defer { message.deallocate() }
        message.pointee = 0
        let status = create(&options, &snapshot, message, capacity)
        guard status == USP_OK.rawValue, let snapshot else {
            throw UnspoolError(status: status, message: message.pointee == 0 ? nil : String(cString: message))
        }
        return Snapshot(SnapshotStorage(snapshot))
    }

    private init(_ storage: SnapshotStorage) {
        self.storage = storage
        stacks = storage.stacks(origin: .snapshot(storage))
        let info = usp_snapshot_get_info(storage.snapshot).pointee
        processID = info.pid == 0 ? nil : Int(info.pid)
        stoppedNanoseconds = info.stopped_ns
        var sentences: [String] = []
        while let sentence = usp_snapshot_message(storage.snapshot, sentences.count) {
            sentences.append(String(cString: sentence))
        }
        messages = sentences
        let crash = String(cString: info.crash)
        cause = crash.isEmpty ? nil : crash
        machException = MachException(info)
        var texts: [Note] = []
        // A later version may have other kinds.
        for i in 0... {
            guard let note = usp_snapshot_get_note(storage.snapshot, i)?.pointee else { break }
            if let known = Note(note) { texts.append(known) }
        }
        notes = texts
    }
}

extension Snapshot.MachException {
    fileprivate init?(_ info: usp_snapshot_info) {
        guard info.mach_exception != 0 else { return nil }
        number = info.mach_exception
        name = usp_mach_exception_string(info.mach_exception).map { String(cString: $0) }
        (code, subcode) = info.mach_codes
    }
}

extension Snapshot.Note {
    fileprivate init?(_ note: usp_snapshot_note) {
        switch note.kind {
        case USP_NOTE_VALUE.rawValue: kind = .value
        case USP_NOTE_BREADCRUMB.rawValue: kind = .breadcrumb
        case USP_NOTE_CALLBACK.rawValue: kind = .callback
        case USP_NOTE_RECORDER.rawValue: kind = .recorder
        case USP_NOTE_MESSAGE.rawValue: kind = .message
        default: return nil
        }
        time = note.time == 0 ? nil : note.time
        key = String(cString: note.key)
        text = String(cString: note.text)
    }
}

extension Snapshot.Style {
    var number: UInt32 {
        switch self {
        case .callStackSymbols: USP_FORMAT_CALL_STACK_SYMBOLS.rawValue
        case .crashReport: USP_FORMAT_CRASH_REPORT.rawValue
        case .json: USP_FORMAT_JSON.rawValue
        case .folded: USP_FORMAT_FOLDED.rawValue
        }
    }
}

/// Owns one of the library's snapshots, which never changes, and its symbolizer.
final class SnapshotStorage: @unchecked Sendable {
    let snapshot: OpaquePointer
    /// Nil when memory was exhausted.
    private(set) var symbolizer: Symbolizer?

    init(_ snapshot: OpaquePointer) {
        self.snapshot = snapshot
        var created: OpaquePointer?
        let status = usp_symbolizer_create_for_snapshot(snapshot, nil, &created)
        symbolizer = status == USP_OK.rawValue ? Symbolizer(created!) : nil
    }

    deinit {
        // The symbolizer uses the snapshot, so it is freed first.
        symbolizer = nil
        usp_snapshot_free(snapshot)
    }

    func stacks(origin: Origin) -> [Stack] {
        let count = Int(usp_snapshot_get_info(snapshot).pointee.thread_count)
        return (0..<count).compactMap { index in
            guard let thread = usp_snapshot_get_thread(snapshot, index)?.pointee else { return nil }
            var stack = Stack(thread.stack, origin: origin, thread: ThreadInfo(thread.info))
            if thread.status != USP_OK.rawValue { stack.failure = UnspoolError(status: thread.status) }
            return stack
        }
    }
}
