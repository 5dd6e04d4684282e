// SPDX-License-Identifier: MIT
// The crash kit: records crashes of this process, and finds the reports at the next start.
internal import CUnspool

/// Records what this process did when a signal ends it, and finds the report at the next start. `doc/crash.md`
/// describes reports and limits.
///
///     try CrashReporter.start(directory: folder)
///     for report in try CrashReporter.reports(in: folder) where !report.isSent { upload(report) }
public enum CrashReporter {
    /// Options of the reporter.
    public struct Options: Sendable, Hashable {
        /// The program's version, by which an update is recognised. Nil: not known.
        public var version: String?
        /// Number of reports that are kept in the directory.
        public var maxReports: UInt32
        /// Size of all reports together in bytes.
        public var maxBytes: UInt64
        /// Number of other threads that are recorded.
        public var maxThreads: UInt32
        /// Number of frames of each thread: the innermost and the outermost.
        public var maxFrames: UInt32
        /// Time limit of a report in nanoseconds.
        public var timeout: UInt64

        public init() {
            var defaults = usp_crash_options()
            usp_crash_options_init(&defaults)
            version = nil
            maxReports = defaults.max_reports
            maxBytes = defaults.max_bytes
            maxThreads = defaults.max_threads
            maxFrames = defaults.max_frames
            timeout = defaults.timeout
        }
    }

    /// How a run ended. Only the first two are certain; the others are guesses by the evidence that there is.
    public enum Verdict: Sendable, Hashable, CaseIterable {
        /// It returned from `main`, called `exit`, or called ``CrashReporter/stop()``.
        case ended
        /// There is a report, possibly one that was cut off.
        case crashed
        /// The program's version has changed since: an update probably ended it.
        case updated
        /// The system was restarted since.
        case restarted
        /// The kernel has killed a process of its control group for lack of memory since.
        case outOfMemory
        /// This process is the same: it has executed the program anew (`exec`).
        case executed
        /// SIGKILL, `_exit`, another signal, a power cut.
        case unexplained
    }

    /// The last run that has ended.
    public struct Run: Sendable, Hashable {
        public let verdict: Verdict
        /// Why the verdict was chosen: a sentence.
        public let evidence: String
        /// How many runs in a row have crashed, this one included; 0: it did not.
        public let crashesInARow: Int
        public let processID: Int
        /// When ``CrashReporter/start(directory:options:)`` was called: nanoseconds since 1970.
        public let started: UInt64
        /// From then until the crash or the clean end, in nanoseconds; nil: not known.
        public let lasted: UInt64?
        /// Its report; nil: there is none, or it was deleted.
        public let report: Report?
    }

    /// A report of a crash.
    public struct Report: Sendable, Hashable {
        public let directory: String
        public let name: String
        /// When the run that crashed began: nanoseconds since 1970.
        public let started: UInt64
        /// Size in bytes.
        public let size: UInt64
        /// Whether ``markSent()`` was called.
        public let isSent: Bool

        /// Reads the report. ``Snapshot/cause`` says what ended the process, ``Snapshot/formatted(_:)`` shows it.
        public func snapshot() throws(UnspoolError) -> Snapshot {
            try Snapshot.ofCrashReport(directory: directory, name: name)
        }

        /// Marks it as sent. If there are too many reports, sent ones are deleted first.
        public func markSent() throws(UnspoolError) { try check(usp_crash_mark_sent(directory, name)) }

        public func delete() throws(UnspoolError) { try check(usp_crash_delete(directory, name)) }
    }

    /// Records from now on the crashes of this process.
    /// - Parameters:
    ///   - directory: The folder of the reports, which belongs to this program alone. The last folder of the path is
    ///     created.
    ///   - options: Limits and the program's version.
    /// - Throws: ``UnspoolError``, such as ``UnspoolError/unsupported`` on systems without crash reports, or
    ///   `USP_ERROR_BUSY` when it has been started.
    public static func start(directory: String, options: Options = Options()) throws(UnspoolError) {
        var wanted = usp_crash_options()
        usp_crash_options_init(&wanted)
        wanted.max_reports = options.maxReports
        wanted.max_bytes = options.maxBytes
        wanted.max_threads = options.maxThreads
        wanted.max_frames = options.maxFrames
        wanted.timeout = options.timeout
        let status = directory.withCString { path in
            wanted.directory = path
            return withOptionalCString(options.version) { version in
                wanted.version = version
                return usp_crash_install(&wanted)
            }
        }
        try check(status)
    }

    /// Ends recording, and notes that this run has ended without a crash.
    public static func stop() { usp_crash_uninstall() }

    /// Sets the value of a key, which a report will contain; nil removes it. There are 64 keys. Keys are cut at 31
    /// bytes, values at 223.
    public static func set(_ key: String, to value: String?) throws(UnspoolError) {
        try check(withOptionalCString(value) { usp_crash_set(key, $0) })
    }

    /// Adds a breadcrumb: what the program does now. A report contains the last 64, each cut at 119 bytes.
    public static func note(_ text: String) throws(UnspoolError) { try check(usp_crash_note(text)) }

    /// Tells how the last run of this program ended that used the directory; nil: it knows of none. It may be called
    /// before or after ``start(directory:options:)``.
    /// - Parameter version: This program's version; nil: not known.
    public static func lastRun(in directory: String, version: String? = nil) throws(UnspoolError) -> Run? {
        var run = usp_crash_run()
        try check(withOptionalCString(version) { usp_crash_last_run(directory, $0, &run) })
        guard let verdict = Verdict(run.verdict) else { return nil }
        let name = text(of: run.report)
        let report = name.isEmpty ? nil : try reports(in: directory).first { $0.name == name }
        return Run(
            verdict: verdict, evidence: text(of: run.evidence), crashesInARow: Int(run.crashes), processID: Int(run.pid),
            started: run.started, lasted: run.lasted == 0 ? nil : run.lasted, report: report)
    }

    /// Lists the reports, the newest first. Reports that were cut off because the process was killed are included.
    public static func reports(in directory: String) throws(UnspoolError) -> [Report] {
        var found: [usp_crash_report] = []
        var count = 0
        var status = usp_crash_list(directory, nil, 0, &count)
        // A crash of another process may add one meanwhile.
        while status >= 0 || status == USP_ERROR_FULL.rawValue, count > found.count {
            found = Array(repeating: usp_crash_report(), count: count)
            status = usp_crash_list(directory, &found, found.count, &count)
        }
        try check(status)
        return found.prefix(count).map {
            Report(
                directory: directory, name: text(of: $0.name), started: $0.started, size: $0.bytes, isSent: $0.is_sent != 0)
        }
    }
}

extension CrashReporter.Verdict {
    fileprivate init?(_ number: UInt32) {
        switch number {
        case USP_CRASH_ENDED.rawValue: self = .ended
        case USP_CRASH_CRASHED.rawValue: self = .crashed
        case USP_CRASH_UPDATED.rawValue: self = .updated
        case USP_CRASH_RESTARTED.rawValue: self = .restarted
        case USP_CRASH_OUT_OF_MEMORY.rawValue: self = .outOfMemory
        case USP_CRASH_EXECUTED.rawValue: self = .executed
        case USP_CRASH_NO_RUN.rawValue: return nil
        default: self = .unexplained
        }
    }
}

/// Returns the text in an array of characters of a C struct, which Swift imports as a tuple.
private func text<Characters>(of characters: Characters) -> String {
    withUnsafeBytes(of: characters) { bytes in String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self) }
}
