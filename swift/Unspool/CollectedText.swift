// SPDX-License-Identifier: MIT
// Text from the library and for it: collects what it writes piece by piece, and passes a text that may be missing.
internal import CUnspool

/// Returns the whole text that `write` produces. `write` passes the given writer and context to a function of the
/// library.
func collectText(_ write: (usp_write_function, UnsafeMutableRawPointer) -> Void) -> String {
    var bytes: [UInt8] = []
    withUnsafeMutablePointer(to: &bytes) { collected in
        write(
            { context, text, count in
                let piece = UnsafeRawBufferPointer(start: text, count: count)
                context!.assumingMemoryBound(to: [UInt8].self).pointee.append(contentsOf: piece)
                return 0
            }, collected)
    }
    return String(decoding: bytes, as: UTF8.self)
}

/// Calls `body` with a C string, or with nil if there is no text.
func withOptionalCString<Result>(_ text: String?, _ body: (UnsafePointer<CChar>?) -> Result) -> Result {
    guard let text else { return body(nil) }
    return text.withCString { body($0) }
}
