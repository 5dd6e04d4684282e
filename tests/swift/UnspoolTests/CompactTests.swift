// SPDX-License-Identifier: MIT
// Tests of compact backtraces and image maps against Swift's own encoder and decoder: the Runtime module's Backtrace
// and ImageMap, by JSON. On Linux only: on Apple systems the module belongs to macOS 26 and later.
#if canImport(Runtime) && os(Linux)
    import Foundation
    import Runtime
    import Testing
    import Unspool

    /// The JSON that JSONEncoder makes of a Backtrace.
    private struct Encoded: Codable {
        var architecture: String
        var backtrace: String
        var imageMap: String?
    }

    private func encoded(_ backtrace: Backtrace) throws -> Encoded {
        try JSONDecoder().decode(Encoded.self, from: try JSONEncoder().encode(backtrace))
    }

    private func decoded(_ encoded: Encoded) throws -> Backtrace {
        try JSONDecoder().decode(Backtrace.self, from: try JSONEncoder().encode(encoded))
    }

    /// Decodes base64 as Swift writes it, without padding.
    private func bytes(_ base64: String) throws -> [UInt8] {
        let padded = base64 + String(repeating: "=", count: (4 - base64.utf8.count % 4) % 4)
        return Array(try #require(Data(base64Encoded: padded)))
    }

    private func base64(_ bytes: [UInt8]) -> String { Data(bytes).base64EncodedString().filter { $0 != "=" } }

    /// Lists the frames of Swift's backtrace, each as "kind address", and the gaps between them.
    private func theirs(_ backtrace: Backtrace) -> [String] {
        backtrace.frames.compactMap { frame in
            let address = UInt64(frame.originalProgramCounter).map { String($0, radix: 16) } ?? "0"
            switch frame {
            case .programCounter: return "pc \(address)"
            case .returnAddress: return "ra \(address)"
            case .asyncResumePoint: return "async \(address)"
            case .omittedFrames(let count): return "omitted \(count)"
            // Whether the stack goes on is compared separately.
            case .truncated: return nil
            @unknown default: return "unknown"
            }
        }
    }

    private func isTruncated(_ backtrace: Backtrace) -> Bool {
        backtrace.frames.contains { if case .truncated = $0 { true } else { false } }
    }

    private func ours(_ stack: Stack) -> [String] {
        var lines: [String] = []
        // The format has the async chain after the frame that it continues from, and none of that frame's callers.
        let end = stack.asyncFrames.isEmpty ? stack.count : (stack.asyncJoin ?? stack.count - 1) + 1
        for (index, frame) in stack.frames.prefix(end).enumerated() {
            if index == stack.omittedAt { lines.append("omitted \(stack.omitted)") }
            lines.append(line(frame))
        }
        if stack.omittedAt == stack.count { lines.append("omitted \(stack.omitted)") }
        return lines + stack.asyncFrames.map(line)
    }

    private func line(_ frame: Unspool.Frame) -> String {
        let kind =
            switch frame.kind {
            case .interrupted, .signal: "pc"
            case .returnAddress: "ra"
            case .asyncResume: "async"
            }
        return "\(kind) \(String(frame.address, radix: 16))"
    }

    @inline(never) private func recurse(_ depth: Int, _ capture: () throws -> Backtrace) rethrows -> Backtrace {
        let backtrace = depth == 0 ? try capture() : try recurse(depth - 1, capture)
        return backtrace
    }

    @inline(never) private func recurse(_ depth: Int, limit: Int) throws -> Stack {
        let stack = depth == 0 ? try Stack.capture(limit: limit) : try recurse(depth - 1, limit: limit)
        return stack
    }

    private func checkTheirs(_ backtrace: Backtrace) throws -> Stack {
        let made = try encoded(backtrace)
        let stack = try Stack(compactBacktrace: try bytes(made.backtrace), architecture: made.architecture)
        #expect(ours(stack) == theirs(backtrace))
        // The other direction.
        var again = made
        again.backtrace = base64(stack.compactBacktrace)
        #expect(theirs(try decoded(again)) == theirs(backtrace))
        return stack
    }

    private func inner() async throws -> Backtrace {
        await Task.yield()
        let backtrace = try Backtrace.capture(limit: nil)
        return backtrace
    }

    private func outer() async throws -> Backtrace {
        let backtrace = try await inner()
        return backtrace
    }

    @Suite struct CompactTests {
        @Test("their backtraces have the same frames here", arguments: [0, 1, 30, 2000])
        func theirBacktraces(depth: Int) throws {
            let backtrace = try recurse(depth) { try Backtrace.capture(limit: nil) }
            #expect(theirs(backtrace).count > depth)
            #expect(try checkTheirs(backtrace).count > depth)
        }

        @Test("a gap in their backtraces is one here") func theirGap() throws {
            let backtrace = try recurse(300) { try Backtrace.capture(limit: 20, top: 4) }
            let stack = try checkTheirs(backtrace)
            #expect(stack.omitted > 280)
            #expect(stack.omittedAt == 15)
        }

        @Test("their async frames are the async chain here") func theirAsyncFrames() async throws {
            let backtrace = try await outer()
            #expect(theirs(backtrace).contains { $0.hasPrefix("async") })
            let stack = try checkTheirs(backtrace)
            #expect(!stack.asyncFrames.isEmpty)
            #expect(stack.asyncJoin == stack.count - 1)
            #expect(stack.asyncFrames.allSatisfy { $0.kind == .asyncResume })
        }

        @Test("our stacks have the same frames there", arguments: [0, 1, 30, 400]) func ourStacks(depth: Int) throws {
            let stack = try recurse(depth, limit: 512)
            #expect(stack.count > depth)
            let made = Encoded(architecture: stack.architecture, backtrace: base64(stack.compactBacktrace))
            let backtrace = try decoded(made)
            #expect(theirs(backtrace) == ours(stack))
            #expect(!isTruncated(backtrace))
            #expect(backtrace.architecture == stack.architecture)
        }

        @Test("a gap in our stacks is one there") func ourGap() throws {
            let stack = try recurse(1000, limit: 64)
            #expect(stack.omitted > 900)
            let backtrace = try decoded(Encoded(architecture: stack.architecture, backtrace: base64(stack.compactBacktrace)))
            #expect(theirs(backtrace) == ours(stack))
        }

        @Test("the stacks of all threads have the same frames there") func allThreads() throws {
            for stack in try Stack.captureAll(by: .helper) where stack.failure == nil {
                let made = Encoded(architecture: stack.architecture, backtrace: base64(stack.compactBacktrace))
                #expect(theirs(try decoded(made)) == ours(stack))
            }
        }

        @Test("a stack that is not complete is none there") func incompleteStack() throws {
            var stack = try recurse(3, limit: 512)
            stack.asyncFrames = []
            stack.asyncJoin = nil
            stack.stopReason = "anything else"
            let backtrace = try decoded(Encoded(architecture: stack.architecture, backtrace: base64(stack.compactBacktrace)))
            #expect(theirs(backtrace) == ours(stack))
            #expect(isTruncated(backtrace))
            let again = try Stack(compactBacktrace: stack.compactBacktrace, architecture: stack.architecture)
            #expect(again.omitted == 1)
            #expect(again.omittedAt == again.count)
        }

        @Test("their image map is the same list here, byte for byte") func theirImages() throws {
            let map = ImageMap.capture()
            let list = try JSONDecoder().decode([String].self, from: try JSONEncoder().encode([map]))
            let made = try bytes(list[0])
            let images = try ImageList(compactImageMap: made, architecture: "x86_64")
            #expect(images.count == map.count)
            #expect(!images.platform.isEmpty)
            for (mine, other) in zip(images, map) {
                #expect(mine.path == other.path ?? "")
                #expect(mine.name == other.name ?? "")
                #expect(mine.loadAddress == UInt64(other.baseAddress))
                #expect(mine.endOfText == UInt64(other.endOfText))
                #expect(mine.buildID == other.uniqueID.map { $0.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined() })
            }
            #expect(try images.compactImageMap == made)
        }

        @Test("our images are the same map there, byte for byte") func ourImages() throws {
            var images = try ImageList.ofThisProcess()
            images.platform = "a system"
            #expect(images.contains { $0.name.hasPrefix("libswiftCore") })
            let made = try images.compactImageMap
            let map = try JSONDecoder().decode([ImageMap].self, from: try JSONEncoder().encode([base64(made)]))[0]
            #expect(map.count == images.count)
            for (mine, other) in zip(images, map) {
                #expect(mine.path == other.path ?? "")
                #expect(mine.loadAddress == UInt64(other.baseAddress))
                #expect(mine.endOfText == UInt64(other.endOfText))
            }
            let again = try JSONDecoder().decode([String].self, from: try JSONEncoder().encode([map]))
            #expect(try bytes(again[0]) == made)
            #expect(try ImageList(compactImageMap: made, architecture: images.architecture) == images)
        }

        @Test("their backtrace gets names by its images") func names() throws {
            let backtrace = try recurse(3) { try Backtrace.capture(limit: nil, images: ImageMap.capture()) }
            let made = try encoded(backtrace)
            let stack = try Stack(compactBacktrace: try bytes(made.backtrace), architecture: made.architecture)
            let images = try ImageList(
                compactImageMap: try bytes(try #require(made.imageMap)), architecture: made.architecture)
            #expect(stack.symbolicated().allSatisfy { $0.symbol == nil })
            let named = try stack.symbolicated(with: images)
            #expect(named.filter { $0.symbol?.name.hasPrefix("recurse(") == true }.count == 4)
            #expect(named.contains { $0.location?.file == "CompactTests.swift" })
        }

        @Test("damaged bytes are errors") func damage() throws {
            #expect(throws: UnspoolError.self) { try Stack(compactBacktrace: [], architecture: "arm64") }
            #expect(throws: UnspoolError.self) { try Stack(compactBacktrace: [2, 0xff], architecture: "arm64") }
            // More frames than the limit.
            let run: [UInt8] = [2, 0x20, 0x10, 0x8f, 0x7f, 0, 0, 0, 0, 0, 0, 0]
            #expect(throws: UnspoolError.self) { try Stack(compactBacktrace: run, architecture: "arm64") }
            #expect(throws: UnspoolError.self) { try ImageList(compactImageMap: [2, 0, 1], architecture: "arm64") }
            let two = [Image(path: "/a", loadAddress: 0, endOfText: 16), Image(path: "/b", loadAddress: 8, endOfText: 16)]
            #expect(throws: UnspoolError.self) { try ImageList(two, architecture: "arm64").compactImageMap }
            #expect(try ImageList([], architecture: "arm64").compactImageMap == [2, 0, 0])
        }
    }
#endif
