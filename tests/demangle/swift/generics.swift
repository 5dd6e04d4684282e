// SPDX-License-Identifier: MIT
// Names for the demangler's tests: generics, protocols, opaque and existential types, packs, types that cannot be copied.

public protocol Container<Item>: AnyObject {
    associatedtype Item: Hashable
    associatedtype Inner: Sequence where Inner.Element == Item
    var items: [Item] { get set }
    var inner: Inner { get }
    init(_ first: Item)
    static func make() -> Self
    subscript(_ index: Int) -> Item { get }
}

public final class Box<Item: Hashable>: Container {
    public var items: [Item] = []
    public var inner: [Item] { items }
    public init(_ first: Item) { items = [first] }
    public static func make() -> Self { fatalError() }
    public subscript(_ index: Int) -> Item { items[index] }
    public struct Nested<Other> where Other: Collection, Other.Element == Item {
        public var other: Other
        public func both<T: Numeric>(_ t: T) -> (T, Other.Index) { (t, other.startIndex) }
        enum Leaf { case one(Item), two(Other) }
    }
}

extension Container {
    public func count<C: Container>(with other: C) -> Int where C.Item == Item { items.count + other.items.count }
}
extension Container where Item == Int { public func total() -> Int { items.reduce(0, +) } }
extension Box: Equatable where Item: Comparable {
    public static func == (a: Box, b: Box) -> Bool { a.items == b.items }
}
extension Optional: @retroactive CustomStringConvertible where Wrapped == Box<Int> {
    public var description: String { "box" }
}
extension Box.Nested: Sendable where Item: Sendable, Other: Sendable {}

public func opaque() -> some Collection<Int> { [1, 2, 3].lazy.map { $0 + 1 } }
public func opaqueTwo() -> (some Equatable, (some Hashable)?) { (1, "a" as String?) }
public var opaqueValue: some CustomStringConvertible { 3 }
public struct Views { public var body: some Sequence { [opaqueValue.description] } }
public func existential(_ a: any Container, _ b: any Container<Int>, _ c: any Hashable & Sendable, _ d: (any Container<String>).Type) {}
public func given(_ a: some Collection<some Hashable>) -> Int { a.count }
public func opened(_ a: any Container) -> Int { a.items.count }
public func same<A: Container, B>(_ a: A, _ b: B) -> B where A.Inner == [B], B: Strideable, B.Stride: SignedInteger { b }
public func layout<T: AnyObject>(_ t: T) {}

public func packs<each T: Hashable, each U>(_ t: repeat each T, of u: repeat (each T, each U)) -> (repeat (each T)?) {
    (repeat Optional(each t))
}
public struct Variadic<each Element> {
    public var stored: (repeat each Element)
    public init(_ e: repeat each Element) { stored = (repeat each e) }
    public func each<R>(_ f: (Any) -> R) -> [R] {
        var all: [R] = []
        for one in repeat each stored { all.append(f(one)) }
        return all
    }
}
public typealias Pairs<each A> = (repeat (Int, each A))
public func variadics(_ v: Variadic<Int, String>, _ w: Variadic<>) -> Pairs<Bool, Double> { ((1, true), (2, 0)) }
public func callPacks() -> Int {
    _ = packs(1, "a", of: (1, 2.0), ("b", 3))
    return Variadic(1, "b").each { "\($0)" }.count
}

public struct File: ~Copyable {
    var descriptor: Int32
    public consuming func close() {}
    public borrowing func read() -> Int { Int(descriptor) }
    deinit { descriptorCount -= 1 }
}
nonisolated(unsafe) var descriptorCount = 0
public enum Maybe<Value: ~Copyable>: ~Copyable {
    case none
    case some(Value)
    public consuming func take() -> Value? {
        switch consume self {
        case .none: nil
        case .some(let value): value
        }
    }
}
extension Maybe: Copyable where Value: Copyable {}
public func noncopyable<T: ~Copyable>(_ t: borrowing T, _ f: (consuming T) -> Void) {}
public func files(_ f: borrowing File, _ m: consuming Maybe<File>) {}
public struct Window<T>: ~Escapable {
    @_lifetime(immortal) public init() {}
}
public protocol Resource: ~Copyable, ~Escapable { borrowing func use() }
public func escaping<R: Resource & ~Copyable & ~Escapable>(_ r: borrowing R) { r.use() }
@_lifetime(copy a) public func longest(_ a: consuming Span<Int>) -> Span<Int> { a }
@_lifetime(borrow a) public func borrowed(_ a: borrowing [Int]) -> Span<Int> { a.span }

public struct Matrix<let rows: Int, let columns: Int> {
    public init() {}
    public func transposed() -> Matrix<columns, rows> { Matrix<columns, rows>() }
}
public func fixed(_ a: InlineArray<4, UInt8>, _ b: Matrix<3, -2>) -> Int { a.count }

public protocol Drawable { func draw<C>(on canvas: C) -> Int }
public protocol Scalable { associatedtype Scale; func scaled(by s: Scale) -> Self }
extension Drawable { public func draw<C>(on canvas: C) -> Int { 1 } }
public struct Circle: Drawable, Scalable, Hashable, Codable, CaseIterable {
    public static var allCases: [Circle] { [] }
    public var radius = 1.0
    public func scaled(by s: Double) -> Circle { self }
}
public struct Pair<A, B> { public var a: A, b: B }
extension Pair: Drawable where A: Drawable, B: Drawable {}
extension Pair: Equatable where A: Equatable, B: Equatable {}
@_specialize(where T == Int) @_specialize(exported: true, where T == [String])
public func specialized<T: Equatable>(_ a: T, _ b: [T]) -> Bool { b.contains(a) }
@inline(never) func generic<T: Drawable & Hashable>(_ t: T, _ more: [T], _ f: (T) -> Int) -> Int {
    more.reduce(f(t)) { $0 + $1.draw(on: t.hashValue) }
}
public func uses() -> Int {
    let pairs = [Pair(a: 1, b: 2.0)].map { Pair(a: $0.b, b: $0.a) }
    return generic(Circle(), [Circle()]) { Int($0.radius) } + pairs.count + Box(3).count(with: Box(4)) + given([Set([1])])
}
public func casts(_ a: Any) -> (any Drawable)? { (a as? any Drawable) ?? (a as? Circle) }
public func metatypes() -> [Any.Type] { [Box<Int>.Nested<[Int]>.self, (any Drawable).self, ((Int, String?) -> Void).self, Never.self] }
