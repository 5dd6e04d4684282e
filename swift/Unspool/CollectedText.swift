// SPDX-License-Identifier: MIT
// Collects text that the library writes piece by piece.
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
