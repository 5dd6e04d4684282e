// SPDX-License-Identifier: MIT
// What the module's functions throw.
internal import CUnspool

/// Why the library could not do what it was asked for.
public struct UnspoolError: Error, Sendable, Hashable, Codable, CustomStringConvertible {
    /// The library's status, one of `enum usp_status`. The numbers never change.
    public let status: Int32
    /// A sentence in English: the library's own, with the file or process that it concerns where that is known.
    public let message: String

    public var description: String { message }

    init(status: Int32, message: String? = nil) {
        self.status = status
        self.message = message ?? String(cString: usp_status_string(status))
    }

    /// The thread or process does not exist, or has ended.
    public static let noThread = UnspoolError(status: USP_ERROR_NO_THREAD.rawValue)
    /// This system or processor cannot do that.
    public static let unsupported = UnspoolError(status: USP_ERROR_UNSUPPORTED.rawValue)
    /// The system does not allow it.
    public static let permission = UnspoolError(status: USP_ERROR_PERMISSION.rawValue)
    /// The thread did not answer in time.
    public static let timeout = UnspoolError(status: USP_ERROR_TIMEOUT.rawValue)

    /// Errors of one status are equal, whatever file or process their sentences name.
    public static func == (left: Self, right: Self) -> Bool { left.status == right.status }
    public func hash(into hasher: inout Hasher) { hasher.combine(status) }
}

/// Throws unless `status` is success.
func check(_ status: Int32) throws(UnspoolError) {
    if status < 0 { throw UnspoolError(status: status) }
}
