# SPDX-License-Identifier: MIT
# The library from its sources, as Package.swift builds it; tests/source/check-packages.sh proves that the files are the same.
Pod::Spec.new do |spec|
  spec.name = 'Unspool'
  spec.version = '0.1.0'
  spec.summary = 'Captures and symbolicates call stacks.'
  spec.license = { type: 'MIT', file: 'COPYING' }
  spec.authors = 'The unspool authors'
  # For use by path. The publisher of a pod fills in where it is.
  spec.homepage = "file://#{__dir__}/README.md"
  spec.source = { path: '.' }

  spec.ios.deployment_target = '12.0'
  spec.osx.deployment_target = '10.13'
  spec.tvos.deployment_target = '12.0'
  spec.watchos.deployment_target = '4.0'
  spec.visionos.deployment_target = '1.0'

  spec.default_subspec = 'Core'
  spec.subspec 'Core' do |core|
    core.source_files = 'arch/**/*.c', 'lib/**/*.c', 'include/unspool/*.h'
    core.exclude_files = 'lib/objc/**/*'
    core.public_header_files = 'include/unspool/*.h'
    core.header_mappings_dir = 'include'
    # Not source files: CocoaPods would copy headers of one name from several folders into one folder.
    core.preserve_paths = 'arch/**/*.h', 'lib/**/*.h'
    core.pod_target_xcconfig = {
      'GCC_C_LANGUAGE_STANDARD' => 'gnu11',
      'HEADER_SEARCH_PATHS' => '"$(PODS_TARGET_SRCROOT)" "$(PODS_TARGET_SRCROOT)/include"'
    }
    core.resource_bundles = { 'Unspool' => 'tools/apple/PrivacyInfo.xcprivacy' }
  end
  # For Objective-C and Swift callers: NSThread, callStackSymbols.
  spec.subspec 'ObjC' do |objc|
    objc.dependency 'Unspool/Core'
    objc.frameworks = 'Foundation'
    objc.source_files = 'lib/objc/*.c', 'lib/objc/*.m', 'include/unspool-objc/*.h'
    objc.public_header_files = 'include/unspool-objc/*.h'
    objc.header_mappings_dir = 'include'
  end
end
