// SPDX-License-Identifier: MIT
// Names for the demangler's tests: functions that can be differentiated.
import _Differentiation

public struct Weights: Differentiable {
    public var a: Float, b: Float
    @differentiable(reverse) public func apply(_ x: Float) -> Float { a * x + b }
    @differentiable(reverse) public subscript(_ x: Float) -> Float { a * x }
}
@differentiable(reverse) public func square(_ x: Float) -> Float { x * x }
@differentiable(reverse, wrt: x where T: Differentiable) public func generic<T>(_ x: T, _ n: Int) -> T { x }
@derivative(of: cube) public func cubeGradient(_ x: Float) -> (value: Float, pullback: (Float) -> Float) { (cube(x), { $0 * 3 * x * x }) }
public func cube(_ x: Float) -> Float { x * x * x }
@differentiable(reverse) public func loop(_ x: Float) -> Float {
    var y = x
    for i in 0..<3 { if y > 1 { y = y * x } else { y = cube(y) + Float(i) } }
    return y
}
public func higher(_ f: @differentiable(reverse) (Float, @noDerivative Int) -> Float) -> Float { f(1, 2) }
public protocol Layer: Differentiable { @differentiable(reverse) func callAsFunction(_ x: Float) -> Float }
public struct Dense: Layer {
    public var w: Float
    @differentiable(reverse) public func callAsFunction(_ x: Float) -> Float { w * x }
}
public func train() -> Float {
    let weights = gradient(at: Weights(a: 1, b: 2)) { w in w.apply(3) + w[1] }
    return gradient(at: 2, of: loop) + gradient(at: 1) { square($0) * generic($0, 1) } + weights.a + higher { x, n in x * Float(n) }
}
