// SPDX-License-Identifier: MIT
//! Stacks and snapshots as text or JSON.
use crate::callback;
use crate::{Error, StackRef, Symbolizer};
use std::io;
use std::mem::MaybeUninit;
use std::os::raw::{c_char, c_int, c_void};
use std::ptr;
use unspool_sys as sys;

/// A layout; the header format.h describes each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Style {
    CallStackSymbols,
    Plain,
    BacktraceSymbols,
    CrashReport,
    Portable,
    Json,
    Folded,
    Ips,
    Sentry,
}

/// How a stack or a snapshot is written.
#[derive(Clone, Copy, Debug)]
pub struct Format<'a> {
    pub style: Style,
    /// Names the frames; `None`: frames of a snapshot are image and offset, those of a single stack are addresses.
    pub symbolizer: Option<&'a Symbolizer<'a>>,
    /// Source lines and inlined calls.
    pub lines: bool,
    /// Names as in the source instead of mangled ones.
    pub demangled: bool,
}

impl<'a> Format<'a> {
    /// The style of `callStackSymbols`, with lines, and names as in the source.
    pub fn text(symbolizer: &'a Symbolizer<'a>) -> Format<'a> {
        Format { style: Style::CallStackSymbols, symbolizer: Some(symbolizer), lines: true, demangled: true }
    }

    pub fn json(symbolizer: &'a Symbolizer<'a>) -> Format<'a> {
        Format { style: Style::Json, ..Format::text(symbolizer) }
    }

    fn raw_style(&self) -> u32 {
        match self.style {
            Style::CallStackSymbols => sys::USP_FORMAT_CALL_STACK_SYMBOLS,
            Style::Plain => sys::USP_FORMAT_PLAIN,
            Style::BacktraceSymbols => sys::USP_FORMAT_BACKTRACE_SYMBOLS,
            Style::CrashReport => sys::USP_FORMAT_CRASH_REPORT,
            Style::Portable => sys::USP_FORMAT_PORTABLE,
            Style::Json => sys::USP_FORMAT_JSON,
            Style::Folded => sys::USP_FORMAT_FOLDED,
            Style::Ips => sys::USP_FORMAT_IPS,
            Style::Sentry => sys::USP_FORMAT_SENTRY,
        }
    }
}

impl StackRef {
    /// Writes the stack. A panic of the writer ends the process.
    pub fn write_to(&self, writer: &mut dyn io::Write, format: &Format<'_>) -> io::Result<()> {
        through(writer, format, |options, write, context| unsafe {
            sys::usp_format_stack(self.as_raw(), ptr::null(), options, write, context)
        })
    }
}

struct Output<'a> {
    writer: &'a mut dyn io::Write,
    result: io::Result<()>,
}

unsafe extern "C" fn write(context: *mut c_void, bytes: *const c_char, n: usize) -> c_int {
    let output = &mut *context.cast::<Output<'_>>();
    let bytes = if n == 0 { &[] } else { std::slice::from_raw_parts(bytes.cast::<u8>(), n) };
    match callback::call("a writer", || output.writer.write_all(bytes)) {
        Ok(()) => sys::USP_OK,
        Err(error) => {
            output.result = Err(error);
            sys::USP_ERROR_SYSTEM
        }
    }
}

/// Calls a function of the library that writes text, with options for `format`.
pub(crate) fn through(
    writer: &mut dyn io::Write,
    format: &Format<'_>,
    call: impl FnOnce(*const sys::usp_format_options, sys::usp_write_function, *mut c_void) -> c_int,
) -> io::Result<()> {
    let mut options = MaybeUninit::<sys::usp_format_options>::uninit();
    let mut options = unsafe {
        sys::usp_format_options_init(options.as_mut_ptr());
        options.assume_init()
    };
    options.style = format.raw_style();
    options.symbolizer = format.symbolizer.map_or(ptr::null_mut(), Symbolizer::as_raw);
    options.flags = if format.lines { sys::USP_FORMAT_LINES } else { 0 };
    let mut status = sys::USP_OK;
    if format.demangled {
        status = unsafe { sys::usp_demangler_create(sys::USP_DEMANGLE_FULL, &mut options.demangler) };
    }
    let mut output = Output { writer, result: Ok(()) };
    if status == sys::USP_OK {
        status = call(&options, Some(write), ptr::addr_of_mut!(output).cast());
    }
    unsafe { sys::usp_demangler_free(options.demangler) };
    output.result?;
    Error::check(status).map_err(|error| io::Error::new(io::ErrorKind::Other, error))
}

