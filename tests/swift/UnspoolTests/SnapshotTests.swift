// SPDX-License-Identifier: MIT
// Tests of stacks of another process, and their text in each style.
import CUnspool
import Foundation
import Testing
import Unspool

@inline(never) private func captureOwn() throws -> Snapshot {
    let snapshot = try Snapshot.ofThisProcess()
    return snapshot
}

#if os(Linux)
    // On Linux only: on other systems a program needs a privilege to read another process.
    @Suite struct SnapshotTests {
        /// Starts a process that waits until its standard input ends.
        private func withProcess(_ body: (Int) throws -> Void) throws {
            let process = Process()
            process.executableURL = URL(fileURLWithPath: "/bin/cat")
            let input = Pipe()
            let output = Pipe()
            process.standardInput = input
            process.standardOutput = output
            try process.run()
            defer {
                try? input.fileHandleForWriting.close()
                process.waitUntilExit()
            }
            // The process answers when it has been loaded.
            try input.fileHandleForWriting.write(contentsOf: Data("x".utf8))
            _ = try output.fileHandleForReading.read(upToCount: 1)
            try body(Int(process.processIdentifier))
            #expect(process.isRunning)
        }

        @Test("another process has a stack with names of its own images") func otherProcess() throws {
            try withProcess { pid in
                let snapshot = try Snapshot.ofProcess(pid)
                #expect(snapshot.processID == pid)
                #expect(snapshot.stoppedNanoseconds > 0)
                let stack = try #require(snapshot.stacks.first)
                #expect(snapshot.stacks.count == 1)
                #expect(stack.failure == nil)
                #expect(stack.thread?.isMain == true)
                #expect(stack.thread?.name == "cat")
                let images = stack.symbolicated().compactMap(\.image?.name)
                #expect(images.last == "cat")
                #expect(stack.symbolicated().contains { $0.symbol?.name.hasPrefix("__libc_start") == true })
            }
        }

        @Test("every style has the program in it") func styles() throws {
            try withProcess { pid in
                let snapshot = try Snapshot.ofProcess(pid)
                for style in Snapshot.Style.allCases { #expect(snapshot.formatted(style).contains("cat"), "\(style)") }
                #expect(snapshot.formatted(.crashReport).contains("Binary Images:"))
                let json = try JSONSerialization.jsonObject(with: Data(snapshot.formatted(.json).utf8))
                #expect((json as? [String: Any])?["threads"] is [Any])
            }
        }

        @Test("a stack outlives the snapshot's variable") func stackKeepsItsSnapshot() throws {
            try withProcess { pid in
                let stack = try Snapshot.ofProcess(pid).stacks[0]
                #expect(stack.symbolicated().contains { $0.symbol != nil })
            }
        }

        @Test("a process that does not exist is an error with a sentence") func missingProcess() {
            let error = #expect(throws: UnspoolError.self) { try Snapshot.ofProcess(0x7fff_fffe) }
            #expect(error == .noThread)
            #expect(error?.message.contains("2147483646") == true)
        }

        @Test("this process's snapshot begins in the caller, and has every style") func thisProcess() throws {
            let snapshot = try captureOwn()
            #expect(snapshot.processID == Int(ProcessInfo.processInfo.processIdentifier))
            let names = snapshot.stacks.compactMap { $0.symbolicated().first?.symbol?.name }
            #expect(names.contains { $0.contains("captureOwn") }, "\(names)")
            #expect(snapshot.stacks.contains { $0.thread?.isMain == true })
            #expect(snapshot.formatted(.crashReport).contains("captureOwn"))
        }

        @Test("a raw capture has the threads that were written, and a cut one says so") func rawCapture() throws {
            var own: OpaquePointer?
            var raw = usp_raw_capture()
            usp_raw_capture_init(&raw)
            #expect(usp_snapshot_create_self(nil, &own) == USP_OK.rawValue)
            defer { usp_snapshot_free(own) }
            raw.snapshot = own
            let path = FileManager.default.temporaryDirectory.appendingPathComponent("unspool-\(UUID().uuidString).raw").path
            defer { try? FileManager.default.removeItem(atPath: path) }
            #expect(FileManager.default.createFile(atPath: path, contents: nil))
            let file = try #require(FileHandle(forWritingAtPath: path))
            #expect(usp_raw_write(file.fileDescriptor, &raw) == USP_OK.rawValue)
            try file.close()
            let snapshot = try Snapshot.ofRawCapture(path: path)
            #expect(snapshot.processID == Int(ProcessInfo.processInfo.processIdentifier))
            #expect(snapshot.stacks.count == Int(usp_snapshot_get_info(own).pointee.thread_count))
            #expect(snapshot.messages.isEmpty)
            #expect(snapshot.stacks.contains { $0.symbolicated().contains { $0.symbol != nil } })
            let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
            try bytes.dropLast(9).write(to: URL(fileURLWithPath: path))
            #expect(try !Snapshot.ofRawCapture(path: path).messages.isEmpty)
        }

        @Test("a raw capture that does not exist is an error that names it") func missingRawCapture() {
            let error = #expect(throws: UnspoolError.self) { try Snapshot.ofRawCapture(path: "/no/such/raw") }
            #expect(error?.message.contains("/no/such/raw") == true)
        }

        @Test("a core file that does not exist is an error that names it") func missingCore() {
            let error = #expect(throws: UnspoolError.self) { try Snapshot.ofCore(path: "/no/such/core") }
            #expect(error?.message.contains("/no/such/core") == true)
        }
    }
#endif
