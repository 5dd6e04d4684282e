// SPDX-License-Identifier: MIT
// Captures the main thread's stack in Swift, with the C functions of the XCFramework, in the form of
// Thread.callStackSymbols. doc/swift.md describes the Swift package; in it, UnspoolObjC's USPThread does the same.
import Unspool

/// Reserves the memory that a capture needs, because captures cannot allocate. Call it once, early.
public func prepareStacks() -> Bool {
    return usp_prepare(nil) == USP_OK.rawValue
}

/// Returns a line for each frame; empty when the main thread could not be captured. Must not be called in a signal
/// handler.
public func mainThreadStack(maximum: Int = 128) -> [String] {
    var frames = [usp_frame](repeating: usp_frame(), count: maximum)
    var thread = usp_thread()
    guard usp_thread_main(&thread) == USP_OK.rawValue else { return [] }
    defer { usp_thread_release(&thread) }

    return frames.withUnsafeMutableBufferPointer { buffer in
        guard let first = buffer.baseAddress else { return [] }
        var stack = usp_stack()
        usp_stack_init(&stack, first, UInt32(buffer.count))
        guard usp_capture_thread(&thread, nil, &stack) == USP_OK.rawValue else { return [] }

        var symbolizer: OpaquePointer?
        guard usp_symbolizer_create(nil, nil, &symbolizer) == USP_OK.rawValue else { return [] }
        defer { usp_symbolizer_free(symbolizer) }
        return (0..<stack.count).map { index in
            let frame = first + Int(index)
            var symbol = usp_symbol()
            var line = [CChar](repeating: 0, count: 512)
            usp_symbolize_frame(symbolizer, stack.arch, frame, &symbol)
            usp_format_frame(&line, 512, USP_FORMAT_CALL_STACK_SYMBOLS.rawValue, &stack, index, &symbol)
            return String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        }
    }
}
