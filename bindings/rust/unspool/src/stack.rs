// SPDX-License-Identifier: MIT
//! Stacks of threads of this process.
use crate::{Error, Result};
use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::ops::Deref;
use std::ptr::{self, NonNull};
use unspool_sys as sys;

/// A thread of this process.
#[derive(Debug)]
pub struct Thread {
    pub(crate) raw: sys::usp_thread,
}

impl Thread {
    fn get(read: impl FnOnce(*mut sys::usp_thread) -> i32) -> Result<Thread> {
        let mut raw = sys::usp_thread { id: 0, native: 0 };
        Error::check(read(&mut raw))?;
        Ok(Thread { raw })
    }

    /// The calling thread.
    pub fn current() -> Result<Thread> {
        Thread::get(|raw| unsafe { sys::usp_thread_self(raw) })
    }

    /// The process's main thread.
    pub fn main() -> Result<Thread> {
        Thread::get(|raw| unsafe { sys::usp_thread_main(raw) })
    }

    /// The thread that a handle stands for, as long as the handle exists: a thread that has ended gives an error.
    #[cfg(unix)]
    pub fn of<T>(handle: &std::thread::JoinHandle<T>) -> Result<Thread> {
        use std::os::unix::thread::JoinHandleExt;
        Thread::get(|raw| unsafe { sys::usp_thread_from_pthread(handle.as_pthread_t() as usize, raw) })
    }

    /// The system's number of the thread.
    pub fn id(&self) -> u64 {
        self.raw.id
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        unsafe { sys::usp_thread_release(&mut self.raw) }
    }
}

/// All threads of this process.
pub fn threads() -> Result<Vec<Thread>> {
    let mut infos: Vec<MaybeUninit<sys::usp_thread_info>> = Vec::new();
    loop {
        let mut count = 0;
        let status = unsafe { sys::usp_threads(infos.as_mut_ptr().cast(), infos.len(), &mut count) };
        let filled = count.min(infos.len());
        let found = infos[..filled].iter().map(|info| Thread { raw: unsafe { info.assume_init_ref() }.thread });
        let found: Vec<Thread> = if status == sys::USP_OK || status == sys::USP_ERROR_FULL { found.collect() } else { vec![] };
        if status != sys::USP_ERROR_FULL {
            return Error::check(status).map(|()| found);
        }
        // Threads may start meanwhile.
        infos.resize_with(count + 16, MaybeUninit::uninit);
    }
}

/// A captured stack of any depth. It can be kept, and symbolicated later.
#[derive(Debug)]
pub struct Stack {
    raw: NonNull<sys::usp_stack>,
}

// The library writes to a stack only while it makes it.
unsafe impl Send for Stack {}
unsafe impl Sync for Stack {}

impl Stack {
    /// Captures the calling thread. The first frame lies in this function's caller, if this function is not inlined.
    #[inline(never)]
    pub fn capture() -> Result<Stack> {
        // Leaves out this function's own frame.
        Stack::create(ptr::null(), 1)
    }

    /// Captures another thread, which is stopped only while its stack is copied.
    pub fn capture_thread(thread: &Thread) -> Result<Stack> {
        Stack::create(&thread.raw, 0)
    }

    #[inline(always)]
    fn create(thread: *const sys::usp_thread, skip: u32) -> Result<Stack> {
        let mut options = MaybeUninit::<sys::usp_unwind_options>::uninit();
        let mut raw = ptr::null_mut();
        let status = unsafe {
            sys::usp_unwind_options_init(options.as_mut_ptr());
            (*options.as_mut_ptr()).skip = skip;
            sys::usp_stack_create(thread, options.as_ptr(), &mut raw)
        };
        Error::check(status)?;
        Ok(Stack { raw: NonNull::new(raw).ok_or_else(|| Error::from_status(sys::USP_ERROR_NO_MEMORY))? })
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        unsafe { sys::usp_stack_free(self.raw.as_ptr()) }
    }
}

impl Deref for Stack {
    type Target = StackRef;

    fn deref(&self) -> &StackRef {
        unsafe { StackRef::from_raw(self.raw.as_ptr()) }
    }
}

/// The frames of a stack, and why it ends: of a `Stack` or of a thread of a snapshot.
#[derive(Debug)]
#[repr(transparent)]
pub struct StackRef(sys::usp_stack);

unsafe impl Send for StackRef {}
unsafe impl Sync for StackRef {}

impl StackRef {
    /// # Safety
    /// The stack and its frames must not change or be freed during `'a`.
    pub unsafe fn from_raw<'a>(raw: *const sys::usp_stack) -> &'a StackRef {
        &*raw.cast()
    }

    pub fn as_raw(&self) -> *const sys::usp_stack {
        &self.0
    }

    /// The frames, innermost first, with Swift's async callers after the others.
    pub fn frames(&self) -> Frames<'_> {
        let all: &[sys::usp_frame] = match self.0.count {
            0 => &[],
            count => unsafe { std::slice::from_raw_parts(self.0.frames, count as usize) },
        };
        Frames { arch: self.0.arch, rest: all.iter() }
    }

    /// Why the stack ends, in words.
    pub fn end(&self) -> &'static str {
        let reason = unsafe { CStr::from_ptr(sys::usp_stop_reason_string(self.0.stop)) };
        reason.to_str().unwrap_or("")
    }

    /// How many frames in the middle were left out.
    pub fn omitted(&self) -> u64 {
        self.0.omitted
    }

    /// For deduplication: equal stacks of one process have equal hashes.
    pub fn hash(&self) -> u64 {
        self.0.hash
    }
}

impl<'a> IntoIterator for &'a StackRef {
    type Item = Frame<'a>;
    type IntoIter = Frames<'a>;

    fn into_iter(self) -> Frames<'a> {
        self.frames()
    }
}

/// What `StackRef::frames` returns.
#[derive(Clone, Debug)]
pub struct Frames<'a> {
    arch: u32,
    rest: std::slice::Iter<'a, sys::usp_frame>,
}

impl<'a> Iterator for Frames<'a> {
    type Item = Frame<'a>;

    fn next(&mut self) -> Option<Frame<'a>> {
        self.rest.next().map(|raw| Frame { arch: self.arch, raw })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.rest.size_hint()
    }
}

impl ExactSizeIterator for Frames<'_> {}

/// The meaning of a frame's pc.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FrameKind {
    Interrupted,
    ReturnAddress,
    LinkRegister,
    AsyncResume,
    Signal,
    Other,
}

/// A frame of a stack.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    pub(crate) arch: u32,
    pub(crate) raw: &'a sys::usp_frame,
}

impl Frame<'_> {
    /// The address as it is printed: where the function goes on.
    pub fn pc(&self) -> u64 {
        self.raw.pc
    }

    /// The address to look up: inside the call.
    pub fn call_site(&self) -> u64 {
        unsafe { sys::usp_frame_call_site(self.arch, self.raw) }
    }

    pub fn kind(&self) -> FrameKind {
        match self.raw.kind {
            sys::USP_FRAME_KIND_INTERRUPTED => FrameKind::Interrupted,
            sys::USP_FRAME_KIND_RETURN_ADDRESS => FrameKind::ReturnAddress,
            sys::USP_FRAME_KIND_LINK_REGISTER => FrameKind::LinkRegister,
            sys::USP_FRAME_KIND_ASYNC_RESUME => FrameKind::AsyncResume,
            sys::USP_FRAME_KIND_SIGNAL => FrameKind::Signal,
            _ => FrameKind::Other,
        }
    }

    /// Everything that the library knows about it.
    pub fn as_raw(&self) -> &sys::usp_frame {
        self.raw
    }
}
