// SPDX-License-Identifier: MIT

// A program with methods, closures, wrappers, type arguments and calls inlined into each other; and with the packages below it.
package main

import (
	"os"
	"strings"
)

type shape interface{ area() int }

type square struct{ side int }

type named struct {
	square
	name string
}

func (s square) area() int { return multiply(s.side, s.side) }

func multiply(a, b int) int { return add(a, 0) * b }

func add(a, b int) int { return a + b }

func largest[T ~int](all ...T) (most T) {
	for _, x := range all {
		if x > most {
			most = x
		}
	}
	return
}

//go:noinline
func report(s shape) {
	defer func() {
		if recover() != nil {
			os.Exit(largest(1, 2, 3))
		}
	}()
	println(strings.Repeat("#", s.area()))
}

func main() {
	report(&named{square{len(os.Args)}, "one"})
	for i := range make([]int, 2) {
		func() { report(square{multiply(i, 2)}) }()
	}
}
