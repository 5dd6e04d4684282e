# SPDX-License-Identifier: MIT
# The XCFrameworks of tools/build-apple as a pod, for use by path: run that first.
Pod::Spec.new do |spec|
  spec.name = 'Unspool'
  spec.version = '0.1.0'
  spec.summary = 'Captures call stacks of threads and names what stands on them.'
  spec.license = { type: 'MIT', file: 'COPYING' }
  spec.authors = 'The unspool authors'
  # Whoever publishes the pod says from where.
  spec.homepage = "file://#{__dir__}/README.md"
  spec.source = { path: '.' }

  spec.ios.deployment_target = '12.0'
  spec.osx.deployment_target = '10.13'
  spec.tvos.deployment_target = '12.0'
  spec.watchos.deployment_target = '4.0'
  spec.visionos.deployment_target = '1.0'

  spec.default_subspec = 'Core'
  spec.subspec 'Core' do |core|
    core.vendored_frameworks = 'build/apple/Unspool.xcframework'
    core.resource_bundles = { 'Unspool' => 'tools/apple/PrivacyInfo.xcprivacy' }
  end
  # For Objective-C and Swift callers: NSThread, callStackSymbols.
  spec.subspec 'ObjC' do |objc|
    objc.dependency 'Unspool/Core'
    objc.frameworks = 'Foundation'
    objc.vendored_frameworks = 'build/apple/UnspoolObjC.xcframework'
  end
end
