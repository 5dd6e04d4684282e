// SPDX-License-Identifier: MIT
// Stacks and images in the compact formats in which Swift's Runtime module encodes its Backtrace and ImageMap.
internal import CUnspool

extension Stack {
    /// Reads a compact backtrace, as `Runtime.Backtrace` (Swift 6.2 and later) stores and encodes it.
    ///
    /// The stack is not symbolicated. Resume points at its end become ``Stack/asyncFrames``.
    /// - Parameters:
    ///   - bytes: The bytes. In the JSON of `Runtime.Backtrace` they are the base64 of `backtrace`.
    ///   - architecture: The processor, such as `arm64`; the bytes do not contain it.
    ///   - limit: Maximum number of frames. A longer backtrace is an error, because a few bytes can stand for any
    ///            number of equal frames.
    /// - Throws: ``UnspoolError`` when the bytes are damaged or have an unknown version of the format.
    public init(
        compactBacktrace bytes: some Collection<UInt8>, architecture: String, limit: Int = 1 << 16
    ) throws(UnspoolError) {
        let arch = usp_arch_from_string(architecture)
        let bytes = Array(bytes)
        // The number of frames.
        var counted = usp_stack()
        usp_stack_init(&counted, nil, 0)
        var needed = 0
        var status = usp_compact_stack_read(bytes, bytes.count, arch, &counted, &needed)
        if status != USP_ERROR_FULL.rawValue { try check(status) }
        if needed > limit { throw UnspoolError(status: USP_ERROR_FULL.rawValue) }
        let frames = UnsafeMutablePointer<usp_frame>.allocate(capacity: Swift.max(needed, 1))
        defer { frames.deallocate() }
        var stack = usp_stack()
        usp_stack_init(&stack, frames, UInt32(needed))
        status = usp_compact_stack_read(bytes, bytes.count, arch, &stack, &needed)
        try check(status)
        self.init(stack, origin: .none)
        self.architecture = architecture
    }

    /// The stack as a compact backtrace, which `Runtime.Backtrace` decodes.
    ///
    /// An async chain follows the frame that it continues from. That frame's callers on the operating system's stack
    /// are left out, as in Swift's own backtraces. The format has no names. Of ``Stack/stopReason`` it records only
    /// whether the stack is complete.
    public var compactBacktrace: [UInt8] {
        var frames = (frames + asyncFrames).map { frame in
            var made = usp_frame()
            made.pc = frame.address
            made.kind = frame.kind.number
            return made
        }
        var stack = usp_stack()
        return frames.withUnsafeMutableBufferPointer { all in
            usp_stack_init(&stack, all.baseAddress, UInt32(all.count))
            stack.count = UInt32(all.count)
            stack.physical = UInt32(self.frames.count)
            stack.arch = usp_arch_from_string(architecture)
            stack.omitted = omitted
            stack.omitted_at = omittedAt.map { UInt32($0) } ?? USP_NO_INDEX
            stack.async_join = asyncJoin.map { UInt32($0) } ?? USP_NO_INDEX
            stack.stop = stop
            stack.async_stop = stack.stop
            return filled(by: { usp_compact_stack_write(&stack, $0, $1, $2) })
        }
    }

    /// ``Stack/stopReason`` as a number of `enum usp_stop_reason`. A phrase that the caller made up means an incomplete
    /// stack.
    private var stop: UInt32 {
        let reasons = USP_STOP_NONE.rawValue...USP_STOP_KERNEL.rawValue
        return reasons.first { stopReason == String(cString: usp_stop_reason_string($0)) } ?? USP_STOP_CAPACITY.rawValue
    }
}

extension Frame.Kind {
    fileprivate var number: UInt32 {
        switch self {
        case .interrupted: USP_FRAME_KIND_INTERRUPTED.rawValue
        case .returnAddress: USP_FRAME_KIND_RETURN_ADDRESS.rawValue
        case .signal: USP_FRAME_KIND_SIGNAL.rawValue
        case .asyncResume: USP_FRAME_KIND_ASYNC_RESUME.rawValue
        }
    }
}

extension ImageList {
    /// Reads a compact image map, as `Runtime.ImageMap` (Swift 6.2 and later) is encoded.
    /// - Parameters:
    ///   - bytes: The bytes. In the JSON of `Runtime.Backtrace` they are the base64 of `imageMap`.
    ///   - architecture: The processor, such as `arm64`; the bytes do not contain it.
    /// - Throws: ``UnspoolError`` when the bytes are damaged or have an unknown version of the format.
    public init(compactImageMap bytes: some Collection<UInt8>, architecture: String) throws(UnspoolError) {
        let bytes = Array(bytes)
        let capacity = 256
        let name = UnsafeMutablePointer<CChar>.allocate(capacity: capacity)
        defer { name.deallocate() }
        var images: OpaquePointer?
        try check(usp_compact_images_read(bytes, bytes.count, usp_arch_from_string(architecture), &images, name, capacity))
        defer { usp_images_free(images) }
        self.init(images, architecture: architecture, platform: String(cString: name))
    }

    /// The list as a compact image map, which `Runtime.ImageMap` decodes.
    /// - Throws: ``UnspoolError`` when images overlap or the platform's name is longer than 255 bytes.
    public var compactImageMap: [UInt8] {
        get throws(UnspoolError) {
            let images = try ImageStorage(self)
            guard platform.utf8.count < 256 else { throw UnspoolError(status: USP_ERROR_ARGUMENT.rawValue) }
            let arch = usp_arch_from_string(architecture)
            return filled(by: { usp_compact_images_write(images.images, arch, platform, $0, $1, $2) })
        }
    }
}

/// Returns the bytes that a function of the library writes. Calls it twice: the first call gives the size.
private func filled(
    by write: (UnsafeMutablePointer<UInt8>?, Int, UnsafeMutablePointer<Int>) -> Int32
) -> [UInt8] {
    var size = 0
    _ = write(nil, 0, &size)
    return [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
        count = write(buffer.baseAddress, size, &size) == USP_OK.rawValue ? size : 0
    }
}
