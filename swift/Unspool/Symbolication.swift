// SPDX-License-Identifier: MIT
// Symbolication: from addresses to symbols, source locations and inlined calls.
internal import CUnspool

extension Stack {
    /// Returns the stack with images, symbols, source locations and inlined calls, as far as they are found. A decoded
    /// stack is returned unchanged.
    public func symbolicated() -> Stack {
        guard let symbolizer = origin.symbolizer() else { return self }
        return symbolicated(by: symbolizer)
    }

    func symbolicated(by symbolizer: Symbolizer) -> Stack {
        let demangler = Demangler()
        var named = self
        for index in named.frames.indices { symbolizer.name(&named.frames[index], demangler) }
        for index in named.asyncFrames.indices { symbolizer.name(&named.asyncFrames[index], demangler) }
        return named
    }
}

extension Origin {
    /// Returns the symbolizer for stacks of this origin; nil if there is none.
    func symbolizer() -> Symbolizer? {
        switch self {
        case .none: nil
        case .thisProcess: Symbolizer.thisProcess
        case .snapshot(let storage): storage.symbolizer
        }
    }
}

/// Demangles the names of one stack or snapshot.
struct Demangler: ~Copyable {
    /// Nil when memory was exhausted; names then stay mangled.
    let demangler: OpaquePointer?

    init() {
        var created: OpaquePointer?
        demangler = usp_demangler_create(USP_DEMANGLE_SHORT.rawValue, &created) == USP_OK.rawValue ? created : nil
    }

    deinit { usp_demangler_free(demangler) }

    func name(_ mangled: UnsafePointer<CChar>) -> String { String(cString: usp_demangle(demangler, mangled)) }
}

/// Owns one of the library's symbolizers. Many threads may use it at the same time.
final class Symbolizer: @unchecked Sendable {
    /// For this process as it is at each call. It is never freed, so that symbol tables are read once.
    static let thisProcess: Symbolizer? = {
        var created: OpaquePointer?
        return usp_symbolizer_create(nil, nil, &created) == USP_OK.rawValue ? Symbolizer(created!) : nil
    }()

    let symbolizer: OpaquePointer
    /// The images that the symbolizer was made for; they must outlive it.
    private let images: ImageStorage?

    init(_ symbolizer: OpaquePointer, for images: ImageStorage? = nil) {
        self.symbolizer = symbolizer
        self.images = images
    }

    deinit { usp_symbolizer_free(symbolizer) }

    func name(_ frame: inout Frame, _ demangler: borrowing Demangler) {
        // Enough for most addresses; usp_lines.count says when there are more inlined calls.
        var capacity = 16
        while true {
            let sources = UnsafeMutablePointer<usp_source_frame>.allocate(capacity: capacity)
            defer { sources.deallocate() }
            var lines = usp_lines()
            usp_lines_init(&lines, sources, UInt32(capacity))
            lines.flags = USP_LINES_FILL.rawValue
            let status = usp_symbolize_lines(symbolizer, frame.callSite, &lines)
            let count = status == USP_OK.rawValue ? Int(lines.count) : 0
            if count > capacity {
                capacity = count
                continue
            }
            if let path = lines.symbol.image_path { frame.image = Image(lines.symbol, path: path) }
            if let name = lines.symbol.name {
                frame.symbol = Symbol(name: demangler.name(name), mangledName: String(cString: name), address: lines.symbol.start)
            }
            guard count > 0 else { return }
            frame.location = SourceLocation(sources[count - 1])
            frame.inlined = (0..<(count - 1)).map { index in
                InlinedCall(function: sources[index].function.map { demangler.name($0) }, location: SourceLocation(sources[index]))
            }
            return
        }
    }
}

extension Image {
    init(_ symbol: usp_symbol, path: UnsafePointer<CChar>) {
        self.path = String(cString: path)
        loadAddress = symbol.image_load
        let size = Int(symbol.build_id_size)
        buildID =
            size == 0
            ? nil
            : withUnsafeBytes(of: symbol.build_id) { hexadecimal($0.prefix(size)) }
    }
}

extension SourceLocation {
    /// Returns nil when no file is known.
    init?(_ frame: usp_source_frame) {
        guard let name = frame.file else { return nil }
        directory = frame.directory.map { String(cString: $0) }
        file = String(cString: name)
        line = frame.line == 0 ? nil : Int(frame.line)
        column = frame.column == 0 ? nil : Int(frame.column)
    }
}
