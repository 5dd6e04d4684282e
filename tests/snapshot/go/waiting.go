// SPDX-License-Identifier: MIT
// A program whose goroutines wait, each for something else. tests/snapshot/goroutines.sh compares them with what the
// program says of itself when it gets SIGQUIT.
package main

import (
	"fmt"
	"net"
	"os"
	"sync"
	"time"
)

var mutex sync.Mutex

//go:noinline
func receives(c chan int) { <-c }

//go:noinline
func sends(c chan int) { c <- 1 }

//go:noinline
func selects(a, b chan int) {
	select {
	case <-a:
	case <-b:
	}
}

//go:noinline
func sleeps() { time.Sleep(time.Hour) }

//go:noinline
func locks() { mutex.Lock(); mutex.Unlock() }

//go:noinline
func waits(group *sync.WaitGroup) { group.Wait() }

//go:noinline
func accepts(l net.Listener) { l.Accept() }

//go:noinline
func deep(n int, c chan int) int {
	if n == 0 {
		return <-c
	}
	return deep(n-1, c) + 1
}

//go:noinline
func reads() { b := make([]byte, 1); os.Stdin.Read(b) }

func main() {
	c := make(chan int)
	var group sync.WaitGroup
	group.Add(1)
	mutex.Lock()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go receives(c)
	go sends(make(chan int))
	go selects(make(chan int), make(chan int))
	go sleeps()
	go locks()
	go waits(&group)
	go accepts(l)
	go deep(60, make(chan int))
	go reads()
	time.Sleep(100 * time.Millisecond)
	fmt.Println("ready")
	selects(make(chan int), make(chan int))
}
