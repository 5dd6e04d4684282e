// SPDX-License-Identifier: MIT
// A frame of a stack, and the results of its symbolication.
internal import CUnspool

/// A function's name and start.
public struct Symbol: Sendable, Hashable, Codable {
    /// The name for people: names of C++, Rust and Swift are demangled.
    public var name: String
    /// The name as the symbol table has it.
    public var mangledName: String
    /// The function's first address.
    public var address: UInt64
}

/// A place in a source file.
public struct SourceLocation: Sendable, Hashable, Codable, CustomStringConvertible {
    /// The file's folder, as the compiler recorded it.
    public var directory: String?
    /// The last component of the file's path.
    public var file: String
    /// From 1; nil for compiler-generated code.
    public var line: Int?
    /// From 1, in bytes; nil when it is not known.
    public var column: Int?

    public var description: String { line.map { "\(file):\($0)" } ?? file }
}

/// A function that the compiler inlined into another one.
public struct InlinedCall: Sendable, Hashable, Codable {
    /// The function's name for people, demangled; nil when debug information has none.
    public var function: String?
    /// Where execution is in this function.
    public var location: SourceLocation?
}

/// A program or library as it is loaded.
public struct Image: Sendable, Hashable, Codable {
    /// The path of its file, as the loader names it.
    public var path: String
    /// The address of its first byte.
    public var loadAddress: UInt64
    /// The build id (ELF) or UUID (Mach-O) in hexadecimal digits; nil when it has none.
    public var buildID: String?
    /// First address past its code; nil in frames, where it is not known.
    public var endOfText: UInt64?

    public init(path: String, loadAddress: UInt64, buildID: String? = nil, endOfText: UInt64? = nil) {
        self.path = path
        self.loadAddress = loadAddress
        self.buildID = buildID
        self.endOfText = endOfText
    }

    /// The last component of the path.
    public var name: String { String(path[(path.lastIndex(of: "/").map(path.index(after:)) ?? path.startIndex)...]) }
}

/// A frame of a stack. The results of symbolication are nil or empty before ``Stack/symbolicated()``, and where nothing
/// is found.
public struct Frame: Sendable, Hashable, Codable, CustomStringConvertible {
    /// The meaning of ``Frame/address``.
    public enum Kind: String, Sendable, Hashable, Codable {
        /// The instruction at which the thread was stopped.
        case interrupted
        /// The instruction after a call.
        case returnAddress
        /// The instruction that a signal interrupted.
        case signal
        /// Where an async function continues.
        case asyncResume
    }

    /// The program counter, without signature and Thumb bit.
    public var address: UInt64
    /// The address to look up: the program counter itself, or an address inside the call instruction before it.
    public var callSite: UInt64
    /// The meaning of ``Frame/address``.
    public var kind: Kind
    /// Whether the code before a return address was read and is a call.
    public var isVerified: Bool
    /// The image that contains the call site.
    public var image: Image?
    /// The function that contains the call site.
    public var symbol: Symbol?
    /// The source location of the call in ``Frame/symbol``.
    public var location: SourceLocation?
    /// Calls that the compiler inlined there, innermost first.
    public var inlined: [InlinedCall]

    /// Bytes from the function's beginning to ``Frame/address``; nil without a symbol.
    public var offset: UInt64? { symbol.map { address &- $0.address } }

    /// Text such as `checkout() in Shop + 40 (Cart.swift:31)`; without a symbol `Shop + 4096`, without an image the
    /// address.
    public var description: String {
        var text: String
        if let symbol, let offset {
            text = symbol.name + (image.map { " in \($0.name)" } ?? "") + " + \(offset)"
        } else if let image {
            text = "\(image.name) + \(address &- image.loadAddress)"
        } else {
            text = "0x" + String(address, radix: 16)
        }
        if let location { text += " (\(location))" }
        return text
    }
}

extension Frame.Kind {
    init(_ kind: UInt32) {
        switch kind {
        case USP_FRAME_KIND_INTERRUPTED.rawValue: self = .interrupted
        case USP_FRAME_KIND_SIGNAL.rawValue: self = .signal
        case USP_FRAME_KIND_ASYNC_RESUME.rawValue: self = .asyncResume
        // A link register holds a return address.
        default: self = .returnAddress
        }
    }
}

extension Frame {
    init(_ frame: usp_frame, arch: UInt32) {
        address = frame.pc
        callSite = withUnsafePointer(to: frame) { usp_frame_call_site(arch, $0) }
        kind = Kind(frame.kind)
        isVerified = frame.flags & USP_FRAME_UNVERIFIED.rawValue == 0
        inlined = []
    }
}
