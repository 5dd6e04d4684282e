// swift-tools-version:6.0
// SPDX-License-Identifier: MIT
// The library from its sources, without configure: the C library, the Objective-C layer (on Apple systems) and the Swift module
// (doc/swift.md). tests/source/check-packages.sh proves that the same files are built as by Automake and in the pods.
import PackageDescription

let package = Package(
    name: "Unspool",
    platforms: [.iOS(.v15), .macOS(.v12), .tvOS(.v15), .watchOS(.v9), .visionOS(.v1)],
    products: [
        .library(name: "Unspool", targets: ["Unspool"]),
        .library(name: "CUnspool", targets: ["CUnspool"]),
    ],
    targets: [
        .target(
            name: "CUnspool", path: ".",
            exclude: ["arch/Makefile.inc", "lib/Makefile.inc", "lib/objc", "lib/unspool.map", "lib/unspool.pc.in"],
            sources: ["arch", "lib"], resources: [.copy("tools/apple/PrivacyInfo.xcprivacy")],
            publicHeadersPath: "include", cSettings: [.headerSearchPath(".")],
            linkerSettings: [
                .linkedLibrary("dl", .when(platforms: [.linux])),
                .linkedLibrary("pthread", .when(platforms: [.linux])),
            ]),
        .target(name: "Unspool", dependencies: ["CUnspool"], path: "swift/Unspool"),
        .testTarget(name: "UnspoolTests", dependencies: ["Unspool", "CUnspool"], path: "tests/swift/UnspoolTests"),
    ],
    cLanguageStandard: .gnu11
)

// Other hosts have no Foundation for Objective-C.
#if canImport(Darwin)
    package.products.append(.library(name: "UnspoolObjC", targets: ["UnspoolObjC"]))
    package.targets.append(
        .target(
            name: "UnspoolObjC", dependencies: ["CUnspool"], path: ".",
            exclude: ["lib/objc/Makefile.inc", "lib/objc/unspool-objc.pc.in"], sources: ["lib/objc"],
            publicHeadersPath: "include", cSettings: [.headerSearchPath(".")], linkerSettings: [.linkedFramework("Foundation")]))
#endif
