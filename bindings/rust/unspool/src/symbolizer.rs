// SPDX-License-Identifier: MIT
//! From addresses to functions, files, lines and inlined calls.
use crate::callback;
use crate::snapshot::{c_string, create};
use crate::{Error, Frame, Result, Snapshot};
use std::borrow::Cow;
use std::ffi::CStr;
use std::fmt;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::ControlFlow;
use std::os::raw::{c_char, c_int, c_void};
use std::ptr::{self, NonNull};
use unspool_sys as sys;

/// Symbolicates addresses of this process, or of a snapshot's. It keeps what it has read. Threads may share it.
#[derive(Debug)]
pub struct Symbolizer<'a> {
    raw: NonNull<sys::usp_symbolizer>,
    snapshot: PhantomData<&'a Snapshot>,
}

unsafe impl Send for Symbolizer<'_> {}
unsafe impl Sync for Symbolizer<'_> {}

impl Symbolizer<'static> {
    /// For this process as it is at each call.
    pub fn new() -> Result<Symbolizer<'static>> {
        let raw = create(|raw, _, _| unsafe { sys::usp_symbolizer_create(ptr::null(), ptr::null(), raw) })?;
        Ok(Symbolizer { raw, snapshot: PhantomData })
    }
}

impl<'a> Symbolizer<'a> {
    /// For the frames of a snapshot.
    pub fn for_snapshot(snapshot: &'a Snapshot) -> Result<Symbolizer<'a>> {
        let raw = create(|raw, _, _| unsafe {
            sys::usp_symbolizer_create_for_snapshot(snapshot.as_raw(), ptr::null(), raw)
        })?;
        Ok(Symbolizer { raw, snapshot: PhantomData })
    }

    pub fn as_raw(&self) -> *mut sys::usp_symbolizer {
        self.raw.as_ptr()
    }

    /// The function that holds an address; `None` when no symbol does.
    pub fn symbolize(&self, address: u64) -> Result<Option<Symbol<'_>>> {
        let mut raw = MaybeUninit::<sys::usp_symbol>::uninit();
        let status = unsafe { sys::usp_symbolize(self.as_raw(), address, raw.as_mut_ptr()) };
        match status {
            sys::USP_ERROR_NOT_FOUND => Ok(None),
            status => {
                Error::check(status)?;
                Ok(Some(Symbol { raw: unsafe { raw.assume_init() }, names: PhantomData }))
            }
        }
    }

    /// The function of a frame, looked up at its call site.
    pub fn symbolize_frame(&self, frame: Frame<'_>) -> Result<Option<Symbol<'_>>> {
        self.symbolize(frame.call_site())
    }

    /// The functions at a frame's call site, innermost inlined call first; the last one is the frame's own.
    pub fn sources(&self, frame: Frame<'_>) -> Result<Vec<Source<'_>>> {
        self.sources_at(frame.call_site())
    }

    /// The functions at an address.
    pub fn sources_at(&self, address: u64) -> Result<Vec<Source<'_>>> {
        let mut frames: Vec<MaybeUninit<sys::usp_source_frame>> = Vec::new();
        frames.resize_with(8, MaybeUninit::uninit);
        loop {
            let mut lines = MaybeUninit::<sys::usp_lines>::uninit();
            let (status, count) = unsafe {
                sys::usp_lines_init(lines.as_mut_ptr(), frames.as_mut_ptr().cast(), frames.len() as u32);
                (*lines.as_mut_ptr()).flags = sys::USP_LINES_FILL;
                let status = sys::usp_symbolize_lines(self.as_raw(), address, lines.as_mut_ptr());
                (status, (*lines.as_ptr()).count as usize)
            };
            if status == sys::USP_ERROR_NOT_FOUND {
                return Ok(Vec::new());
            }
            Error::check(status)?;
            if count <= frames.len() {
                let found = frames[..count].iter();
                return Ok(found.map(|raw| Source { raw: unsafe { raw.assume_init() }, names: PhantomData }).collect());
            }
            frames.resize_with(count, MaybeUninit::uninit);
        }
    }

    /// Visits every function of the image that holds an address, by ascending start, until `visit` breaks. A panic of
    /// `visit` ends the process.
    pub fn visit<F>(&self, address: u64, mut visit: F) -> Result<()>
    where
        F: FnMut(&Symbol<'_>) -> ControlFlow<()>,
    {
        unsafe extern "C" fn visit_one<F>(context: *mut c_void, symbol: *const sys::usp_symbol) -> c_int
        where
            F: FnMut(&Symbol<'_>) -> ControlFlow<()>,
        {
            let visit = &mut *context.cast::<F>();
            let symbol = Symbol { raw: *symbol, names: PhantomData };
            match callback::call("a visitor", || visit(&symbol)) {
                ControlFlow::Continue(()) => 0,
                ControlFlow::Break(()) => 1,
            }
        }
        let context = ptr::addr_of_mut!(visit).cast();
        Error::check(unsafe { sys::usp_symbolizer_visit(self.as_raw(), address, Some(visit_one::<F>), context) })
    }

    /// Releases memory and files, as if the symbolizer were new.
    pub fn trim(&mut self) {
        unsafe { sys::usp_symbolizer_trim(self.as_raw()) }
    }
}

impl Drop for Symbolizer<'_> {
    fn drop(&mut self) {
        unsafe { sys::usp_symbolizer_free(self.raw.as_ptr()) }
    }
}

/// A C string of the library, or `None`.
unsafe fn text<'a>(string: *const c_char) -> Option<Cow<'a, str>> {
    if string.is_null() {
        return None;
    }
    Some(CStr::from_ptr(string).to_string_lossy())
}

/// A function.
#[derive(Clone, Copy, Debug)]
pub struct Symbol<'a> {
    raw: sys::usp_symbol,
    names: PhantomData<&'a ()>,
}

impl<'a> Symbol<'a> {
    /// The name as in the file; `demangle` makes it readable.
    pub fn name(&self) -> Cow<'a, str> {
        unsafe { text(self.raw.name) }.unwrap_or_default()
    }

    pub fn start(&self) -> u64 {
        self.raw.start
    }

    /// The looked-up address − `start`.
    pub fn offset(&self) -> u64 {
        self.raw.offset
    }

    /// The path of the image that contains it.
    pub fn image(&self) -> Option<Cow<'a, str>> {
        unsafe { text(self.raw.image_path) }
    }

    /// Everything that the library knows about it.
    pub fn as_raw(&self) -> &sys::usp_symbol {
        &self.raw
    }
}

/// A function at a source location.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    raw: sys::usp_source_frame,
    names: PhantomData<&'a ()>,
}

impl<'a> Source<'a> {
    /// The name as in the file; `demangle` makes it readable.
    pub fn function(&self) -> Option<Cow<'a, str>> {
        unsafe { text(self.raw.function) }
    }

    pub fn directory(&self) -> Option<Cow<'a, str>> {
        unsafe { text(self.raw.directory) }
    }

    pub fn file(&self) -> Option<Cow<'a, str>> {
        unsafe { text(self.raw.file) }
    }

    /// From 1.
    pub fn line(&self) -> Option<u32> {
        Some(self.raw.line).filter(|line| *line != 0)
    }

    pub fn is_inlined(&self) -> bool {
        self.raw.flags & sys::USP_SOURCE_INLINED != 0
    }

    /// Everything that the library knows about it.
    pub fn as_raw(&self) -> &sys::usp_source_frame {
        &self.raw
    }
}

/// "function (file:line)", with the function's readable name.
impl fmt::Display for Source<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.function() {
            Some(name) => f.write_str(&demangle(&name))?,
            None => write!(f, "{:#x}", self.raw.address)?,
        }
        match (self.file(), self.line()) {
            (Some(file), Some(line)) => write!(f, " ({}:{})", file, line),
            (Some(file), None) => write!(f, " ({})", file),
            _ => Ok(()),
        }
    }
}

/// The name of a function as in its source: C++, Rust, Swift, Kotlin. A name that is not mangled stays as it is.
pub fn demangle(name: &str) -> String {
    let mut demangler = ptr::null_mut();
    let mangled = match c_string(name.as_bytes()) {
        Ok(mangled) => mangled,
        Err(_) => return name.to_string(),
    };
    unsafe {
        if sys::usp_demangler_create(sys::USP_DEMANGLE_SIMPLE, &mut demangler) != sys::USP_OK {
            return name.to_string();
        }
        let readable = CStr::from_ptr(sys::usp_demangle(demangler, mangled.as_ptr())).to_string_lossy().into_owned();
        sys::usp_demangler_free(demangler);
        readable
    }
}

/// The readable name of the function of this process that holds an address, by the process's default symbolizer.
pub fn name_of(address: *const ()) -> Option<String> {
    unsafe { text(sys::usp_address_name(address.cast())) }.map(Cow::into_owned)
}
