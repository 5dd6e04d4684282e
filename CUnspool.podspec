# SPDX-License-Identifier: MIT
# The C library from its sources, as Package.swift builds it; tests/source/check-packages.sh proves that the files are
# the same. The pods Unspool (Swift) and UnspoolObjC (NSThread, callStackSymbols) depend on it.
Pod::Spec.new do |spec|
  spec.name = 'CUnspool'
  spec.summary = 'Captures and symbolicates call stacks.'
  spec.version = File.read("#{__dir__}/configure.ac")[/^AC_INIT\(\[unspool\], \[([0-9.]+)\]/, 1]
  spec.license = { type: 'MIT', file: 'COPYING' }
  spec.authors = 'The unspool authors'
  # For use by path: the public list of pods (CocoaPods' trunk) is read-only from 2 December 2026, so no version of this
  # pod will be there.
  spec.homepage = "file://#{__dir__}/README.md"
  spec.source = { path: '.' }

  spec.ios.deployment_target = '15.0'
  spec.osx.deployment_target = '12.0'
  spec.tvos.deployment_target = '15.0'
  spec.watchos.deployment_target = '9.0'
  spec.visionos.deployment_target = '1.0'

  spec.source_files = 'arch/**/*.c', 'lib/**/*.c', 'include/unspool/*.h'
  spec.exclude_files = 'lib/objc/**/*'
  spec.public_header_files = 'include/unspool/*.h'
  spec.header_mappings_dir = 'include'
  # Not source files: CocoaPods would copy headers of one name from several folders into one folder.
  spec.preserve_paths = 'arch/**/*.h', 'lib/**/*.h'
  spec.pod_target_xcconfig = {
    'GCC_C_LANGUAGE_STANDARD' => 'gnu11',
    'HEADER_SEARCH_PATHS' => '"$(PODS_TARGET_SRCROOT)" "$(PODS_TARGET_SRCROOT)/include"',
    # The sources need no modules, and include/module.modulemap (Package.swift's) defines modules of the same names as
    # CocoaPods does. For importers the pod is a module, also as a static library.
    'CLANG_ENABLE_MODULES' => 'NO',
    'DEFINES_MODULE' => 'YES'
  }
  spec.resource_bundles = { 'CUnspool' => 'tools/apple/PrivacyInfo.xcprivacy' }
end
