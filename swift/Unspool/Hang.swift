// SPDX-License-Identifier: MIT
// A hang as a value.
internal import CUnspool

/// A turn of a loop that did not end in time, as ``HangMonitor`` reports it.
public struct Hang: Sendable, CustomStringConvertible {
    public enum State: Sendable, Hashable {
        /// The turn has not ended yet.
        case ongoing
        /// The turn ended.
        case recovered
        /// The process ended during the turn. A later process found the hang in ``HangMonitor/Options/file``.
        case killed
        /// The monitor was stopped during the turn.
        case abandoned
    }

    /// How a hang is written as text.
    public enum Style: Sendable, Hashable, CaseIterable {
        /// For people.
        case text
        /// An object as `doc/schema/hang.schema.json` describes it.
        case json
    }

    /// Number of this hang in this process, from 1; the same in all reports of one hang.
    public let id: UInt64
    /// Whether the turn has ended, and how.
    public let state: State
    /// Whether the hang has lasted longer than ``HangMonitor/Options/severe``.
    public let isSevere: Bool
    /// Duration in nanoseconds, so far or in total, without ``takenOff``.
    public let duration: UInt64
    /// Time in which the monitor did not run, in nanoseconds. It is not counted in ``duration``.
    public let takenOff: UInt64
    /// When the turn began, in nanoseconds since 1970; nil: not known.
    public let wallStart: UInt64?
    /// Number of samples of the thread's stack.
    public let samples: UInt64
    /// The stack in which most of the time was spent, not symbolicated (``Stack/symbolicated()``). Nil without samples,
    /// and for a hang of an earlier process, whose addresses differ from this one's. The text contains that hang's
    /// stacks.
    public let heaviestStack: Stack?
    /// The first captured stack; nil as for ``heaviestStack``.
    public let firstStack: Stack?

    private let storage: HangStorage

    /// The symbolicated report. It may allocate memory and read files.
    /// - Parameter lines: Also source files, lines and inlined calls, which takes longer.
    public func formatted(_ style: Style = .text, lines: Bool = false) -> String {
        let demangler = Demangler()
        var options = usp_hang_write_options()
        usp_hang_write_options_init(&options)
        options.style = style == .json ? USP_HANG_JSON.rawValue : USP_HANG_TEXT.rawValue
        if lines { options.flags |= USP_HANG_LINES.rawValue }
        options.symbolizer = Symbolizer.thisProcess?.symbolizer
        options.demangler = demangler.demangler
        // Fails only when memory is exhausted; the text written before that is returned.
        return collectText { write, context in _ = usp_hang_write(storage.hang, &options, write, context) }
    }

    public var description: String { formatted() }

    /// Copies a hang of the library with everything that it points to. Returns nil when memory is exhausted.
    init?(_ hang: UnsafePointer<usp_hang>) {
        guard let storage = HangStorage(hang) else { return nil }
        self.storage = storage
        let hang = hang.pointee
        id = hang.id
        state =
            switch hang.state {
            case USP_HANG_RECOVERED.rawValue: .recovered
            case USP_HANG_KILLED.rawValue: .killed
            case USP_HANG_ABANDONED.rawValue: .abandoned
            default: .ongoing
            }
        isSevere = hang.flags & USP_HANG_SEVERE.rawValue != 0
        duration = hang.duration
        takenOff = hang.taken_off
        wallStart = hang.wall_start == 0 ? nil : hang.wall_start
        samples = hang.samples
        let isOfThisProcess = state != .killed
        firstStack = isOfThisProcess ? hang.first.map { Stack($0.pointee, origin: .thisProcess) } : nil
        heaviestStack = isOfThisProcess ? heaviest(of: hang.profile) : nil
    }
}

private func heaviest(of profile: OpaquePointer?) -> Stack? {
    guard let profile else { return nil }
    let capacity = 256
    let frames = UnsafeMutablePointer<usp_frame>.allocate(capacity: capacity)
    defer { frames.deallocate() }
    var stack = usp_stack()
    usp_stack_init(&stack, frames, UInt32(capacity))
    var status = usp_profile_heaviest(profile, 0, USP_PROFILE_WALL.rawValue, &stack, nil)
    if status == USP_ERROR_NOT_FOUND.rawValue {
        status = usp_profile_heaviest(profile, 0, USP_PROFILE_SAMPLES.rawValue, &stack, nil)
    }
    guard status == USP_OK.rawValue || status == USP_ERROR_FULL.rawValue else { return nil }
    return Stack(stack, origin: .thisProcess)
}

/// Owns a copy of the library's hang with everything that it points to. The copy does not change.
private final class HangStorage: @unchecked Sendable {
    let hang: UnsafeMutablePointer<usp_hang>
    private let first: UnsafeMutablePointer<usp_stack>

    init?(_ given: UnsafePointer<usp_hang>) {
        hang = .allocate(capacity: 1)
        first = .allocate(capacity: 1)
        hang.initialize(to: given.pointee)
        first.initialize(to: usp_stack())
        hang.pointee.profile = nil
        hang.pointee.threads = nil
        hang.pointee.first = nil
        hang.pointee.program = duplicate(given.pointee.program)
        if let stack = given.pointee.first {
            let count = Int(stack.pointee.count)
            first.pointee = stack.pointee
            first.pointee.frames = .allocate(capacity: Swift.max(count, 1))
            first.pointee.frames.update(from: stack.pointee.frames, count: count)
            first.pointee.capacity = stack.pointee.count
            hang.pointee.first = UnsafePointer(first)
        }
        guard copy(given.pointee.profile, &hang.pointee.profile), copy(given.pointee.threads, &hang.pointee.threads) else {
            return nil
        }
    }

    deinit {
        usp_profile_free(hang.pointee.profile)
        usp_profile_free(hang.pointee.threads)
        UnsafeMutablePointer(mutating: hang.pointee.program)?.deallocate()
        first.pointee.frames?.deallocate()
        first.deallocate()
        hang.deallocate()
    }
}

private func copy(_ profile: OpaquePointer?, _ made: inout OpaquePointer?) -> Bool {
    guard let profile else { return true }
    return usp_profile_copy(profile, 0, UInt64.max, 0, &made) == USP_OK.rawValue
}

private func duplicate(_ text: UnsafePointer<CChar>?) -> UnsafePointer<CChar> {
    let bytes = text.map { String(cString: $0).utf8CString } ?? [0]
    let made = UnsafeMutablePointer<CChar>.allocate(capacity: bytes.count)
    bytes.withUnsafeBufferPointer { made.initialize(from: $0.baseAddress!, count: $0.count) }
    return UnsafePointer(made)
}
