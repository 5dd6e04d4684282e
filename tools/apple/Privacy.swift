// SPDX-License-Identifier: MIT
// The target that carries PrivacyInfo.xcprivacy for Package.swift: SwiftPM makes no target without a source file.
