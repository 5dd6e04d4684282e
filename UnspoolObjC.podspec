# SPDX-License-Identifier: MIT
# The Objective-C layer from its sources, as Package.swift builds it; tests/source/check-packages.sh proves that the
# files are the same.
Pod::Spec.new do |spec|
  spec.name = 'UnspoolObjC'
  spec.summary = 'Captures and symbolicates call stacks, in Objective-C: NSThread, callStackSymbols.'
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

  spec.source_files = 'lib/objc/*.c', 'lib/objc/*.m', 'include/unspool-objc/*.h'
  spec.public_header_files = 'include/unspool-objc/*.h'
  spec.header_mappings_dir = 'include'
  # Not source files, because CocoaPods would make them public in a framework's folder.
  spec.preserve_paths = 'lib/objc/*.h'
  spec.frameworks = 'Foundation'
  spec.dependency 'CUnspool', spec.version.to_s
  # As in CUnspool.podspec.
  spec.pod_target_xcconfig = {
    'GCC_C_LANGUAGE_STANDARD' => 'gnu11',
    'HEADER_SEARCH_PATHS' => '"$(PODS_TARGET_SRCROOT)" "$(PODS_TARGET_SRCROOT)/include"',
    'CLANG_ENABLE_MODULES' => 'NO',
    'DEFINES_MODULE' => 'YES'
  }
end
