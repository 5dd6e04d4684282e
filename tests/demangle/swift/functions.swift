// SPDX-License-Identifier: MIT
// Names for the demangler's tests: functions, properties, closures, initialisers, operators, identifiers.

public struct Point {
    public var x: Int, y: Int
    public static let zero = Point(x: 0, y: 0)
    public static var count = 0
    public lazy var length: Double = Double(x * x + y * y)
    public var sum: Int {
        get { x + y }
        set { x = newValue - y }
    }
    public var seen: Int = 0 {
        willSet { Point.count += newValue }
        didSet { Point.count -= oldValue }
    }
    public var first: Int {
        _read { yield x }
        _modify { yield &x }
    }
    public init(x: Int, y: Int) { (self.x, self.y) = (x, y) }
    public init?(text: String) {
        guard let x = Int(text) else { return nil }
        self.init(x: x, y: 0)
    }
    public subscript(index: Int) -> Int {
        get { index == 0 ? x : y }
        set { if index == 0 { x = newValue } else { y = newValue } }
    }
    public static subscript(name name: String) -> Int { name.count }
    public mutating func move(by d: Int = 3, _ others: Int..., then: (inout Point) -> Void) {
        x += d + others.count
        then(&self)
    }
    public consuming func eaten() -> Int { x }
    public static func + (a: Point, b: Point) -> Point { Point(x: a.x + b.x, y: a.y + b.y) }
    public static prefix func - (a: Point) -> Point { Point(x: -a.x, y: -a.y) }
}

postfix operator ++*
infix operator ~<>~
public postfix func ++* (a: inout Point) -> Point { a }
public func ~<>~ (a: Point, b: Point) -> Bool { a.x < b.y }

open class Base {
    private var secret = 1
    fileprivate func hidden(_ p: Point) -> Int { secret + p.x }
    open class var shared: Base { Base() }
    public required init() {}
    public convenience init(secret: Int) {
        self.init()
        self.secret = secret
    }
    open func work(_ block: @escaping (Int, String) -> (Bool, Point?)) -> [String: Set<Int>] {
        _ = block(secret, "a")
        func local(_ depth: Int) -> Int { depth == 0 ? hidden(.zero) : local(depth - 1) }
        return ["a": [local(2)]]
    }
    deinit { Point.count += 1 }
}

public final class Derived: Base {
    public override func work(_ block: @escaping (Int, String) -> (Bool, Point?)) -> [String: Set<Int>] {
        let one = { (a: Int) in { (b: Int) in a + b + Point.count } }
        return ["b": [one(1)(2)]]
    }
    weak var parent: Base?
    unowned(unsafe) var other: Base
    unowned let third: Base
    public required init() {
        other = Base.shared
        third = other
        super.init()
    }
}

public enum Shape {
    case circle(radius: Double), square(Double), nothing
    indirect case group([Shape], Shape)
    public enum Failure: Error { case first, second(Int) }
}

public func thrower(_ n: Int) throws -> Int { if n > 0 { throw Shape.Failure.second(n) } else { return n } }
public func typed(_ n: Int) throws(Shape.Failure) -> Int { if n > 0 { throw .first } else { return n } }
public func passing(_ f: () throws -> Int) rethrows -> Int { try f() }
public func typedPassing<E: Error>(_ f: () throws(E) -> Int) throws(E) -> Int { try f() }
public func automatic(_ f: @autoclosure () -> Int, _ g: @autoclosure @escaping () -> Int) -> Int { f() + g() }
public func tuple(_ a: (Int, named: String), _ b: (), _ c: ((Int)) -> Void) -> (a: Int, b: [Int?]) { (a.0, [nil]) }
public func c(_ f: @convention(c) (Int32, UnsafePointer<CChar>?) -> Int32) -> Int32 { f(1, nil) }
public func borrow(_ a: borrowing Base, _ b: consuming Base, _ c: inout Base, _ d: __owned Base) { c = b }
public func types(_ a: Any, _ b: AnyObject, _ c: Any.Type, _ d: Base.Type, _ e: any Error, _ f: Never.Type?) {}
public func pointers(_ a: UnsafeMutableRawPointer, _ b: UnsafeBufferPointer<UInt8>, _ c: OpaquePointer?) {}
public func letters(_ a: Character, _ b: Unicode.Scalar, _ c: Substring, _ d: Range<String.Index>, _ e: Int128) {}

@propertyWrapper public struct Clamped {
    public var wrappedValue: Int
    public var projectedValue: Clamped { self }
    public init(wrappedValue: Int, to high: Int) { self.wrappedValue = min(wrappedValue, high) }
}

public struct Wrapped {
    @Clamped(to: 10) public var level = 3
    public func use(@Clamped(to: 4) argument: Int) -> Int { argument + $level.wrappedValue }
}

public struct Größe {
    public var höhe = 1
    public func 計算する(_ 値: Int) -> Int { 値 }
    public static func ≠ (a: Größe, b: Größe) -> Bool { a.höhe != b.höhe }
    public var `a name with spaces`: Int { 1 }
    public func `func`(`in`: Int) {}
}
infix operator ≠

public let global = { (n: Int) -> Int in n * 2 }(4)
private var hiddenGlobal = [Point.zero]
private func hiddenFunction() -> Int { hiddenGlobal.count }
public func calls() -> Int { hiddenFunction() + [3, 1].map { $0 + 1 }.filter { $0 > global }.reduce(0, +) }

public func keyPaths() -> [AnyKeyPath] { [\Point.x, \Point.sum, \Point[3], \Point?.?.y, \Derived.parent?.hash2] }
extension Base { var hash2: Int { 1 } }
extension Array where Element == Point { public func total() -> Int { reduce(0) { $0 + $1.x } } }
public typealias Handler = (Point) -> Void
public func aliased(_ h: Handler?) { h?(.zero) }
@_cdecl("unspool_exported") public func exported(_ n: Int32) -> Int32 { n }
@inlinable public func inlined(_ n: Int) -> Int { n &+ 1 }
@available(macOS 14, *) public func available() {}
@backDeployed(before: macOS 99) public func backDeployed(_ n: Int) -> Int { n }
public dynamic func replaceable() -> Int { 1 }
@_dynamicReplacement(for: replaceable()) public func replacement() -> Int { 2 }
@main enum Program { static func main() { print(calls(), keyPaths().count) } }
