// SPDX-License-Identifier: MIT
// Goroutines that never call anything, so that only a signal (SIGURG) preempts them, beside ones that allocate and others
// that sleep; and collections of garbage, each of which has to stop all of them.
package main

// #include "capture.h"
import "C"

import (
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"
	"runtime"
)

var sink, ended uint64
var leave uint32

func spin(n uint64) {
	// No call, and no place at which the compiler looks for a request to preempt: loops like this need the signal.
	for i := uint64(0); i < n; i++ {
		sink += i
	}
}

func work() {
	for atomic.LoadUint32(&leave) == 0 {
		spin(20000000)
	}
	atomic.AddUint64(&ended, 1)
}

func allocate() {
	var kept [][]byte
	for atomic.LoadUint32(&leave) == 0 {
		kept = append(kept, make([]byte, 4096))
		if len(kept) > 1000 {
			kept = nil
		}
	}
	atomic.AddUint64(&ended, 1)
}

func sleep() {
	for atomic.LoadUint32(&leave) == 0 {
		time.Sleep(time.Millisecond)
	}
	atomic.AddUint64(&ended, 1)
}

// Work collects garbage so often while goroutines work and the program's threads are captured. Returns 0, or the number of
// the check that failed.
//
//export Work
func Work(collections C.int) C.int {
	const each = 4
	runtime.GOMAXPROCS(4)
	atomic.StoreUint32(&leave, 0)
	atomic.StoreUint64(&ended, 0)
	for i := 0; i < each; i++ {
		go work()
		go allocate()
		go sleep()
	}
	// The program's own use of the signal, beside the run-time's.
	received := make(chan os.Signal, 1000)
	signal.Notify(received, syscall.SIGURG)
	if status := C.capture_begin(); status != 0 {
		fmt.Fprintln(os.Stderr, "usp_prepare:", status)
		return 1
	}
	longest := time.Duration(0)
	for i := 0; i < int(collections); i++ {
		began := time.Now()
		runtime.GC()
		if took := time.Since(began); took > longest {
			longest = took
		}
	}
	before := len(received)
	syscall.Kill(syscall.Getpid(), syscall.SIGURG)
	for deadline := time.Now().Add(20 * time.Second); len(received) == before && before < cap(received); {
		if time.Now().After(deadline) {
			return 2
		}
		time.Sleep(time.Millisecond)
	}
	signal.Stop(received)
	captured := C.capture_end()
	atomic.StoreUint32(&leave, 1)
	for deadline := time.Now().Add(60 * time.Second); atomic.LoadUint64(&ended) < 3*each; {
		if time.Now().After(deadline) {
			return 3
		}
		time.Sleep(time.Millisecond)
	}
	if captured <= 0 {
		return 4
	}
	fmt.Printf("%d collections, the longest took %v, meanwhile %d captures\n", collections, longest, captured)
	return 0
}

func main() {
	os.Exit(int(Work(100)))
}
