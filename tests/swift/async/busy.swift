// SPDX-License-Identifier: MIT
// Tasks that never rest: functions, actors and children await each other without end, so that a thread can be captured
// anywhere. compare.py lists which function can await which.
import Glibc

actor Sum {
    var total = 0
    func add(_ n: Int) async -> Int {
        total &+= await work(n)
        return total
    }
}

let sums = [Sum(), Sum()]

@inline(never) func spin(_ n: Int) -> Int {
    var value = n
    for i in 0..<(50 + n % 50) { value = value &* 31 &+ i }
    return value
}

@inline(never) func work(_ n: Int) async -> Int { spin(n) & 1023 }

@inline(never) func viaActor(_ n: Int) async -> Int {
    let sum = await sums[n & 1].add(n)
    return sum &+ 1
}

@inline(never) func either(_ n: Int) async -> Int {
    let value = await work(n)
    return value &+ spin(value)
}

@inline(never) func left(_ n: Int) async -> Int {
    let value = await either(n)
    return value &+ 1
}

@inline(never) func right(_ n: Int) async -> Int {
    if n % 7 == 0 { await Task.yield() }
    let value = await either(n &+ 1)
    return value &+ spin(n)
}

@inline(never) func again(_ n: Int) async -> Int {
    if n <= 0 { return await viaActor(n & 1) }
    let value = await again(n - 1)
    return value &+ 1
}

@inline(never) func children(_ n: Int) async -> Int {
    async let one = left(n)
    async let two = right(n)
    return await one &+ two
}

@inline(never) func round(_ n: Int) async -> Int {
    let a = await left(n)
    let b = await right(a & 1023)
    let c = await again(b & 7)
    let d = await children(c & 1023)
    return d & 1023
}

@main struct Busy {
    static func main() async {
        print("ready")
        fflush(nil)
        await withTaskGroup(of: Void.self) { group in
            for seed in 0..<3 {
                group.addTask {
                    var n = seed
                    while true { n = await round(n) }
                }
            }
        }
    }
}
