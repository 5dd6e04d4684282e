// SPDX-License-Identifier: MIT
// Lists of images, and symbolication of stacks with the images of a list.
internal import CUnspool

/// The programs and libraries of a process.
///
///     let stack = try Stack(compactBacktrace: bytes, architecture: "arm64")
///     let images = try ImageList(compactImageMap: map, architecture: "arm64")
///     for frame in try stack.symbolicated(with: images) { print(frame) }
public struct ImageList: Sendable, Hashable, Codable {
    /// The images, in any order.
    public var images: [Image]
    /// The processor, such as `arm64`.
    public var architecture: String
    /// The system's name for people; may be empty.
    public var platform: String

    public init(_ images: [Image], architecture: String, platform: String = "") {
        self.images = images
        self.architecture = architecture
        self.platform = platform
    }

    /// The images that are loaded in this process now.
    public static func ofThisProcess() throws(UnspoolError) -> ImageList {
        var images: OpaquePointer?
        try check(usp_images_create_self(&images))
        defer { usp_images_free(images) }
        return ImageList(images, architecture: String(cString: usp_arch_string(usp_arch_host())), platform: "")
    }
}

extension ImageList: RandomAccessCollection {
    public var startIndex: Int { 0 }
    public var endIndex: Int { images.count }
    public subscript(position: Int) -> Image { images[position] }
}

extension Stack {
    /// Returns the stack with images, symbols, source locations and inlined calls, as far as the images' files have
    /// them. A file is used only if its build id is the image's.
    /// - Throws: ``UnspoolError`` when images overlap.
    public func symbolicated(with images: ImageList) throws(UnspoolError) -> Stack {
        let storage = try ImageStorage(images)
        var created: OpaquePointer?
        try check(usp_symbolizer_create(storage.images, nil, &created))
        return symbolicated(by: Symbolizer(created!, for: storage))
    }
}

/// Owns one of the library's lists of images.
final class ImageStorage {
    let images: OpaquePointer

    init(_ list: ImageList) throws(UnspoolError) {
        let arch = usp_arch_from_string(list.architecture)
        // One buffer for all paths, each NUL-terminated. It stores offsets, because the buffer's address changes while
        // it grows.
        var text: [CChar] = []
        var starts: [Int] = []
        for image in list.images {
            starts.append(text.count)
            text.append(contentsOf: image.path.utf8.map { CChar(bitPattern: $0) })
            text.append(0)
        }
        var created: OpaquePointer?
        let status = text.withUnsafeBufferPointer { text in
            let entries = zip(list.images, starts).map { image, start in
                usp_image(image, path: text.baseAddress! + start, arch: arch)
            }
            return usp_images_create(entries, entries.count, &created)
        }
        try check(status)
        images = created!
    }

    deinit { usp_images_free(images) }
}

extension usp_image {
    fileprivate init(_ image: Image, path: UnsafePointer<CChar>, arch: UInt32) {
        self.init()
        self.path = path
        self.arch = arch
        load_address = image.loadAddress
        // The linked address is not known yet; the file may have it (see below).
        slide = image.loadAddress
        end = image.endOfText ?? image.loadAddress
        let digits = Array((image.buildID ?? "").utf8)
        let bytes = stride(from: 0, to: digits.count - digits.count % 2, by: 2).compactMap { at in
            UInt8(String(decoding: digits[at..<at + 2], as: UTF8.self), radix: 16)
        }
        build_id_size = UInt32(
            withUnsafeMutableBytes(of: &build_id) { buffer in
                buffer.copyBytes(from: bytes.prefix(buffer.count))
                return Swift.min(bytes.count, buffer.count)
            })
        if let linked = linkedAddress(path: path) { slide = image.loadAddress &- linked }
    }

    /// The address for which the image was linked, from its file; nil when there is no file of this build.
    private func linkedAddress(path: UnsafePointer<CChar>) -> UInt64? {
        guard build_id_size > 0 else { return nil }
        var options = usp_image_file_options()
        usp_image_file_options_init(&options)
        options.build_id = build_id
        options.build_id_size = build_id_size
        var images: OpaquePointer?
        guard usp_images_open(path, &options, &images, nil, 0) == USP_OK.rawValue else { return nil }
        defer { usp_images_free(images) }
        return usp_images_count(images) == 0 ? nil : usp_images_get(images, 0).pointee.load_address
    }
}

extension ImageList {
    init(_ list: OpaquePointer?, architecture: String, platform: String) {
        let images = (0..<usp_images_count(list)).map { Image(usp_images_get(list, $0).pointee) }
        self.init(images, architecture: architecture, platform: platform)
    }
}

extension Image {
    fileprivate init(_ image: usp_image) {
        path = String(cString: image.path)
        loadAddress = image.load_address
        endOfText = image.text_high > image.text_low ? image.text_high : image.end
        let size = Int(image.build_id_size)
        buildID = size == 0 ? nil : withUnsafeBytes(of: image.build_id) { hexadecimal($0.prefix(size)) }
    }
}

/// Returns two hexadecimal digits for each byte.
func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
}
