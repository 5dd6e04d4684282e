// SPDX-License-Identifier: MIT
// A captured stack as a value.
internal import CUnspool

/// A thread of a process.
public struct ThreadInfo: Sendable, Hashable, Codable {
    /// The system-wide thread id: Linux `gettid()`, Apple systems `thread_identifier_info.thread_id`.
    public var id: UInt64
    /// The thread's name; nil when it has none.
    public var name: String?
    /// The label of the dispatch queue that the thread works for. Apple systems only; nil when it cannot be determined.
    public var queue: String?
    /// Whether it is the process's main thread.
    public var isMain: Bool
}

/// The call stack of one thread: a collection of frames, innermost first.
///
///     let stack = try Stack.capture(.main)
///     for frame in stack.symbolicated() { print(frame) }
public struct Stack: Sendable, Hashable, Codable {
    /// The operating system's stack, innermost first. Omitted frames belong before ``Stack/omittedAt``.
    public var frames: [Frame]
    /// The Swift async chain, innermost first: each function awaits the one before it. It continues from
    /// ``Stack/asyncJoin``.
    public var asyncFrames: [Frame]
    /// The index in ``Stack/frames`` of the frame that runs the innermost async function; nil without an async chain.
    public var asyncJoin: Int?
    /// The id of the Swift task, if the system reveals it.
    public var taskID: UInt32?
    /// Number of omitted frames. When ``Stack/stopReason`` says that there was no room, 1 may mean "one or more".
    public var omitted: UInt64
    /// The index in ``Stack/frames`` before which frames were omitted; nil when none were.
    public var omittedAt: Int?
    /// Why the stack ends, as a short English phrase.
    public var stopReason: String
    /// The processor, such as `arm64`.
    public var architecture: String
    /// How long the thread was stopped, in nanoseconds; 0 when it was not stopped.
    public var stoppedNanoseconds: UInt64
    /// The stack's thread; nil for ``Stack/capture(_:limit:by:)``.
    public var thread: ThreadInfo?
    /// Why the thread has no stack, when several threads were captured.
    public var failure: UnspoolError?

    /// The source of symbols. It is not encoded: a decoded stack keeps the symbols that it has.
    var origin = Origin.none

    private enum CodingKeys: String, CodingKey {
        case frames, asyncFrames, asyncJoin, taskID, omitted, omittedAt, stopReason, architecture, stoppedNanoseconds, thread
        case failure
    }
}

/// The source that a stack was captured from. All origins are equal, so that stacks are compared by their contents
/// alone.
enum Origin: Sendable, Hashable {
    case none
    case thisProcess
    case snapshot(SnapshotStorage)

    static func == (left: Self, right: Self) -> Bool { true }
    func hash(into hasher: inout Hasher) {}
}

extension Stack: RandomAccessCollection {
    public var startIndex: Int { 0 }
    public var endIndex: Int { frames.count }
    public subscript(position: Int) -> Frame { frames[position] }
}

extension Stack: CustomStringConvertible {
    /// A line for each frame; the async chain follows below a line of its own.
    public var description: String {
        var lines: [String] = []
        for (index, frame) in frames.enumerated() {
            if index == omittedAt { lines.append("    \(omitted) frames left out") }
            lines.append("\(index)   \(frame)")
        }
        if !asyncFrames.isEmpty {
            lines.append("    async, from frame \(asyncJoin ?? 0)")
            for (index, frame) in asyncFrames.enumerated() { lines.append("\(frames.count + index)   \(frame)") }
        }
        lines.append("    ends: \(failure?.message ?? stopReason)")
        return lines.joined(separator: "\n")
    }
}

extension Stack {
    /// Copies a stack of the library.
    init(_ stack: usp_stack, origin: Origin, thread: ThreadInfo? = nil) {
        let all = UnsafeBufferPointer(start: stack.frames, count: stack.frames == nil ? 0 : Int(stack.count))
            .map { Frame($0, arch: stack.arch) }
        let physical = Swift.min(Int(stack.physical), all.count)
        frames = Array(all[..<physical])
        asyncFrames = Array(all[physical...])
        asyncJoin = stack.async_join == USP_NO_INDEX ? nil : Int(stack.async_join)
        taskID = stack.flags & USP_STACK_TASK_ID.rawValue != 0 ? stack.task_id : nil
        omitted = stack.omitted
        omittedAt = stack.omitted_at == USP_NO_INDEX ? nil : Int(stack.omitted_at)
        stopReason = String(cString: usp_stop_reason_string(stack.stop))
        architecture = String(cString: usp_arch_string(stack.arch))
        stoppedNanoseconds = stack.stopped_ns
        self.thread = thread
        self.origin = origin
    }
}

extension ThreadInfo {
    init(_ info: usp_thread_info) {
        id = info.thread.id
        name = text(of: info.name)
        queue = text(of: info.queue)
        isMain = info.flags & USP_THREAD_MAIN.rawValue != 0
    }
}

/// Returns the NUL-terminated text in an array field of a C struct; nil when it is empty.
private func text<Characters>(of characters: Characters) -> String? {
    withUnsafeBytes(of: characters) { bytes in
        let text = bytes.prefix { $0 != 0 }
        return text.isEmpty ? nil : String(decoding: text, as: UTF8.self)
    }
}
