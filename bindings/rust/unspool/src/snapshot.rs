// SPDX-License-Identifier: MIT
//! Snapshots: all threads at one moment.
use crate::format::{through, Format};
use crate::{Error, Result, StackRef};
use std::borrow::Cow;
use std::ffi::{CStr, CString};
use std::io;
use std::os::raw::{c_char, c_int};
use std::path::Path;
use std::ptr::{self, NonNull};
use unspool_sys as sys;

/// All threads of this process, of another one or of a core file. It never changes.
#[derive(Debug)]
pub struct Snapshot {
    raw: NonNull<sys::usp_snapshot>,
}

unsafe impl Send for Snapshot {}
unsafe impl Sync for Snapshot {}

/// Makes a path or name for C.
pub(crate) fn c_string(bytes: &[u8]) -> Result<CString> {
    CString::new(bytes).map_err(|_| Error::from_status(sys::USP_ERROR_ARGUMENT))
}

/// Calls a function that makes an object, and has a place for a sentence about a failure.
pub(crate) fn create<T>(make: impl FnOnce(*mut *mut T, *mut c_char, usize) -> c_int) -> Result<NonNull<T>> {
    let mut raw = ptr::null_mut();
    let mut detail = [0 as c_char; 512];
    let status = make(&mut raw, detail.as_mut_ptr(), detail.len());
    Error::check_with(status, &detail)?;
    NonNull::new(raw).ok_or_else(|| Error::from_status(sys::USP_ERROR_NO_MEMORY))
}

impl Snapshot {
    /// Captures all threads of this process; the others are stopped meanwhile.
    pub fn of_self() -> Result<Snapshot> {
        let raw = create(|raw, _, _| unsafe { sys::usp_snapshot_create_self(ptr::null(), raw) })?;
        Ok(Snapshot { raw })
    }

    /// Captures another process.
    pub fn of_process(pid: u32) -> Result<Snapshot> {
        let raw = create(|raw, detail, size| unsafe {
            sys::usp_snapshot_create_process(i64::from(pid), ptr::null(), raw, detail, size)
        })?;
        Ok(Snapshot { raw })
    }

    /// Reads a core file.
    #[cfg(unix)]
    pub fn open_core(path: impl AsRef<Path>) -> Result<Snapshot> {
        use std::os::unix::ffi::OsStrExt;
        let path = c_string(path.as_ref().as_os_str().as_bytes())?;
        let raw = create(|raw, detail, size| unsafe {
            sys::usp_snapshot_open_core(path.as_ptr(), ptr::null(), raw, detail, size)
        })?;
        Ok(Snapshot { raw })
    }

    pub fn as_raw(&self) -> *const sys::usp_snapshot {
        self.raw.as_ptr()
    }

    /// Data about the whole, such as how long the threads were stopped. Its strings are valid as long as the snapshot.
    pub fn info(&self) -> &sys::usp_snapshot_info {
        unsafe { &*sys::usp_snapshot_get_info(self.as_raw()) }
    }

    /// The threads: of a core first the one that crashed, then the main thread.
    pub fn threads(&self) -> SnapshotThreads<'_> {
        SnapshotThreads { snapshot: self, next: 0 }
    }

    /// Sentences about files and threads that are missing or were refused.
    pub fn messages(&self) -> Vec<Cow<'_, str>> {
        (0..)
            .map(|i| unsafe { sys::usp_snapshot_message(self.as_raw(), i) })
            .take_while(|message| !message.is_null())
            .map(|message| unsafe { CStr::from_ptr(message) }.to_string_lossy())
            .collect()
    }

    /// Writes the stacks of all threads. A panic of the writer ends the process.
    pub fn write_to(&self, writer: &mut dyn io::Write, format: &Format<'_>) -> io::Result<()> {
        through(writer, format, |options, write, context| unsafe {
            sys::usp_format_snapshot(self.as_raw(), options, write, context)
        })
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        unsafe { sys::usp_snapshot_free(self.raw.as_ptr()) }
    }
}

/// What `Snapshot::threads` returns.
#[derive(Clone, Debug)]
pub struct SnapshotThreads<'a> {
    snapshot: &'a Snapshot,
    next: usize,
}

impl<'a> Iterator for SnapshotThreads<'a> {
    type Item = SnapshotThread<'a>;

    fn next(&mut self) -> Option<SnapshotThread<'a>> {
        let raw = unsafe { sys::usp_snapshot_get_thread(self.snapshot.as_raw(), self.next).as_ref() }?;
        self.next += 1;
        Some(SnapshotThread { raw })
    }
}

/// A thread of a snapshot.
#[derive(Clone, Copy, Debug)]
pub struct SnapshotThread<'a> {
    raw: &'a sys::usp_snapshot_thread,
}

impl<'a> SnapshotThread<'a> {
    pub fn id(&self) -> u64 {
        self.raw.info.thread.id
    }

    /// The thread's name; "" when it has none.
    pub fn name(&self) -> Cow<'a, str> {
        unsafe { CStr::from_ptr(self.raw.info.name.as_ptr()) }.to_string_lossy()
    }

    pub fn is_main(&self) -> bool {
        self.raw.info.flags & sys::USP_THREAD_MAIN != 0
    }

    /// Whether it is the thread that captured.
    pub fn is_requester(&self) -> bool {
        self.raw.info.flags & sys::USP_THREAD_REQUESTER != 0
    }

    /// Why there is no stack.
    pub fn error(&self) -> Option<Error> {
        Error::check(self.raw.status).err()
    }

    pub fn stack(&self) -> &'a StackRef {
        unsafe { StackRef::from_raw(&self.raw.stack) }
    }

    /// Everything that the library knows about it.
    pub fn as_raw(&self) -> &'a sys::usp_snapshot_thread {
        self.raw
    }
}
