// SPDX-License-Identifier: MIT
// Names for the demangler's tests: embedded Swift, whose names begin with $e.
public protocol Pin { static var number: Int { get } }
public enum Led: Pin { public static var number: Int { 13 } }
public struct Port<P: Pin> {
    public var level = false
    public mutating func toggle() -> Int { level.toggle(); return P.number }
}
public final class Queue<Element> {
    var items: [Element] = []
    public init() {}
    public func push(_ e: Element) -> Int { items.append(e); return items.count }
}
@inline(never) func twice<T>(_ t: T, _ f: (T) -> Int) -> Int { f(t) + f(t) }
public func run() -> Int {
    var port = Port<Led>()
    return port.toggle() + Queue<UInt8>().push(3) + twice(4 as Int16) { Int($0) }
}
