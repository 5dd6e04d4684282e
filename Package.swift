// swift-tools-version:5.9
// SPDX-License-Identifier: MIT
// The XCFrameworks of tools/build-apple as a Swift package, for use by path: run that first. Nothing is compiled here.
import Foundation
import PackageDescription

let folder = "build/apple"

// Targets whose binary is not there cannot even be named: without Foundation tools/build-apple makes no UnspoolObjC.
let frameworks = ["Unspool", "UnspoolObjC"].filter {
    FileManager.default.fileExists(atPath: "\(Context.packageDirectory)/\(folder)/\($0).xcframework/Info.plist")
}

let package = Package(
    name: "Unspool",
    platforms: [.iOS(.v12), .macOS(.v10_13), .tvOS(.v12), .watchOS(.v4), .visionOS(.v1)],
    products: [
        .library(name: "Unspool", targets: frameworks + ["UnspoolPrivacy"])
    ],
    targets: frameworks.map { .binaryTarget(name: $0, path: "\(folder)/\($0).xcframework") } + [
        // A static library has no place for a privacy manifest; a target with resources has.
        .target(
            name: "UnspoolPrivacy", path: "tools/apple", sources: ["Privacy.swift"],
            resources: [.copy("PrivacyInfo.xcprivacy")])
    ]
)
