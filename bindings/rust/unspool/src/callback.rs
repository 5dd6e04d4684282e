// SPDX-License-Identifier: MIT
//! Calls of Rust functions by the C library. A panic must not unwind through C, so it ends the process.
use std::any::Any;
use std::io::Write;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::process::abort;
use unspool_sys as sys;

/// Calls a function of the caller. If it panics, prints a report on standard error and aborts.
pub(crate) fn call<R>(what: &str, function: impl FnOnce() -> R) -> R {
    match catch_unwind(AssertUnwindSafe(function)) {
        Ok(result) => result,
        Err(panic) => abort_with_report(what, &*panic),
    }
}

/// Rust has printed the panic's place. The stack shows which call of the library led to the callback.
fn abort_with_report(what: &str, panic: &(dyn Any + Send)) -> ! {
    let message = match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => text,
        (None, Some(text)) => text.as_str(),
        (None, None) => "not a text",
    };
    let mut output = std::io::stderr().lock();
    let _ = writeln!(output, "unspool: {} panicked: {}", what, message);
    let _ = writeln!(output, "unspool: the process aborts, because a panic cannot pass through the library. Stack:");
    unsafe { sys::usp_print_stack(2) };
    abort()
}
