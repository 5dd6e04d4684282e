// SPDX-License-Identifier: MIT
// The error that the module's functions throw.
internal import CUnspool

/// Why an operation of the library failed.
public struct UnspoolError: Error, Sendable, Hashable, Codable, CustomStringConvertible {
    /// The library's status, a number of `enum usp_status`. The numbers never change.
    public let status: Int32
    /// An English sentence from the library, with the file or process concerned if that is known.
    public let message: String

    public var description: String { message }

    init(status: Int32, message: String? = nil) {
        self.status = status
        self.message = message ?? String(cString: usp_status_string(status))
    }

    /// The thread or process does not exist, or has ended.
    public static let noThread = UnspoolError(status: USP_ERROR_NO_THREAD.rawValue)
    /// This system or processor cannot do it.
    public static let unsupported = UnspoolError(status: USP_ERROR_UNSUPPORTED.rawValue)
    /// The system does not allow it.
    public static let permission = UnspoolError(status: USP_ERROR_PERMISSION.rawValue)
    /// The thread did not answer in time.
    public static let timeout = UnspoolError(status: USP_ERROR_TIMEOUT.rawValue)

    /// Errors with the same status are equal, even if their messages name different files or processes.
    public static func == (left: Self, right: Self) -> Bool { left.status == right.status }
    public func hash(into hasher: inout Hasher) { hasher.combine(status) }
}

/// Throws unless `status` is success.
func check(_ status: Int32) throws(UnspoolError) {
    if status < 0 { throw UnspoolError(status: status) }
}
