# SPDX-License-Identifier: MIT
# The Swift module, as Package.swift builds it. A pod has one module, so the C library, which the sources import, is the
# pod CUnspool (doc/swift.md). tests/source/check-packages.sh proves that the files are the same.
Pod::Spec.new do |spec|
  spec.name = 'Unspool'
  spec.summary = 'Captures and symbolicates call stacks, in Swift.'
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

  spec.swift_versions = ['6.0']
  spec.source_files = 'swift/Unspool/*.swift'
  spec.dependency 'CUnspool', spec.version.to_s
end
