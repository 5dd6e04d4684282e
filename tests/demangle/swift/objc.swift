// SPDX-License-Identifier: MIT
// Names for the demangler's tests: what Objective-C sees. The compiler's front end makes them on every host.
@objc public protocol Delegate { @objc optional func changed(_ n: Int); @objc var name: Int { get } }
@objc(UNSController) open class Controller { @objc public init() {}
    @objc open func run(_ n: Int) -> Int { n }
    @objc public dynamic var title = 0
    @objc public subscript(i: Int) -> Controller { self }
    @objc public func block(_ f: @escaping @convention(block) (Int) -> Void) { f(1) }
    weak var delegate: (any Delegate)?
    func ask() { delegate?.changed?(delegate!.name) }
}
open class Plain<T> { @objc public func g() {} ; public init() {} }
private class Hidden: Controller { override func run(_ n: Int) -> Int { super.run(n + 1) } }
extension Controller { @objc public func extended() {} }
public func make() -> Controller { Hidden() }
