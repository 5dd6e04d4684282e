// SPDX-License-Identifier: MIT
// Names for the demangler's tests: macros, result builders, and what the compiler adds to a declaration.
import Foundation
import Observation

@resultBuilder public enum Lines {
    public static func buildExpression(_ e: String) -> [String] { [e] }
    public static func buildBlock(_ parts: [String]...) -> [String] { parts.flatMap { $0 } }
    public static func buildOptional(_ part: [String]?) -> [String] { part ?? [] }
    public static func buildEither(first: [String]) -> [String] { first }
    public static func buildEither(second: [String]) -> [String] { second }
    public static func buildArray(_ parts: [[String]]) -> [String] { parts.flatMap { $0 } }
    public static func buildFinalResult(_ all: [String]) -> Text { Text(lines: all) }
}
public struct Text: Codable, Hashable, Sendable {
    public var lines: [String]
    public init(lines: [String]) { self.lines = lines }
    public init(@Lines _ make: () -> Text) { self = make() }
}
@Lines public func page(_ n: Int) -> Text {
    "first"
    if n > 0 { "more" } else { "less" }
    for i in 0..<n { "\(i)" }
    if let n = Int("3") { String(n) }
}
public func nested() -> Text { Text { "a"; Text { "b" }.lines[0] } }

@Observable public final class Model {
    public var name = "a"
    public var parts: [Int] = []
    @ObservationIgnored public var ignored = 1
    public init() {}
}
public func predicate(_ n: Int) -> Predicate<Int> { #Predicate<Int> { $0 > n && $0 < 10 } }
public enum Locals { @TaskLocal public static var depth = 0 }

@dynamicMemberLookup @dynamicCallable public struct Dynamic {
    public subscript(dynamicMember name: String) -> Int { name.count }
    public subscript<T>(dynamicMember path: KeyPath<Text, T>) -> T { Text(lines: [])[keyPath: path] }
    public func dynamicallyCall(withArguments a: [Int]) -> Int { a.count }
    public func callAsFunction(_ n: Int) -> Int { n }
}
public func dynamic(_ d: Dynamic) -> Int { d.abc + d.lines.count + d(1) }
public struct Options: OptionSet { public let rawValue: Int; public init(rawValue: Int) { self.rawValue = rawValue } }
public enum Day: String, CaseIterable, Comparable, Codable { case monday, tuesday
    public static func < (a: Day, b: Day) -> Bool { a.rawValue < b.rawValue }
}
public struct Literal: ExpressibleByStringInterpolation { public init(stringLiteral value: String) {} }
public func literal(_ l: Literal = "a\(1)", file: StaticString = #fileID) {}
@main enum Program { static func main() { print(page(2), nested(), predicate(1), Model().name, Locals.depth, Day.monday < .tuesday) } }
