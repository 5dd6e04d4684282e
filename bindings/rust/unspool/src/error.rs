// SPDX-License-Identifier: MIT
//! Errors: the statuses of the C library.
use std::ffi::CStr;
use std::fmt;
use std::os::raw::{c_char, c_int};
use unspool_sys as sys;

pub type Result<T> = std::result::Result<T, Error>;

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    status: c_int,
    detail: Option<String>,
}

/// What an error means; `enum usp_status` without the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    Argument,
    Unreadable,
    Absent,
    NoMemory,
    Unsupported,
    NotPrepared,
    NoThread,
    Timeout,
    Permission,
    System,
    Format,
    Truncated,
    Mismatch,
    NotFound,
    Busy,
    Full,
    StackFull,
    /// A status that this version of the crate does not know, or one that a callback returned.
    Other,
}

impl Error {
    /// Makes an error of a status of the library, such as a function of `unspool_sys` returns.
    pub fn from_status(status: c_int) -> Error {
        Error { status, detail: None }
    }

    /// The library's number for it, an `enum usp_status`.
    pub fn status(&self) -> c_int {
        self.status
    }

    pub fn kind(&self) -> ErrorKind {
        match self.status {
            sys::USP_ERROR_ARGUMENT => ErrorKind::Argument,
            sys::USP_ERROR_UNREADABLE => ErrorKind::Unreadable,
            sys::USP_ERROR_ABSENT => ErrorKind::Absent,
            sys::USP_ERROR_NO_MEMORY => ErrorKind::NoMemory,
            sys::USP_ERROR_UNSUPPORTED => ErrorKind::Unsupported,
            sys::USP_ERROR_NOT_PREPARED => ErrorKind::NotPrepared,
            sys::USP_ERROR_NO_THREAD => ErrorKind::NoThread,
            sys::USP_ERROR_TIMEOUT => ErrorKind::Timeout,
            sys::USP_ERROR_PERMISSION => ErrorKind::Permission,
            sys::USP_ERROR_SYSTEM => ErrorKind::System,
            sys::USP_ERROR_FORMAT => ErrorKind::Format,
            sys::USP_ERROR_TRUNCATED => ErrorKind::Truncated,
            sys::USP_ERROR_MISMATCH => ErrorKind::Mismatch,
            sys::USP_ERROR_NOT_FOUND => ErrorKind::NotFound,
            sys::USP_ERROR_BUSY => ErrorKind::Busy,
            sys::USP_ERROR_FULL => ErrorKind::Full,
            sys::USP_ERROR_STACK_FULL => ErrorKind::StackFull,
            _ => ErrorKind::Other,
        }
    }

    /// `Ok` for `USP_OK` and counts.
    pub(crate) fn check(status: c_int) -> Result<()> {
        Error::check_with(status, &[])
    }

    /// Like `check`, with the sentence that the library wrote to `detail`.
    pub(crate) fn check_with(status: c_int, detail: &[c_char]) -> Result<()> {
        if status >= 0 {
            return Ok(());
        }
        let bytes: Vec<u8> = detail.iter().take_while(|c| **c != 0).map(|c| *c as u8).collect();
        let detail = if bytes.is_empty() { None } else { Some(String::from_utf8_lossy(&bytes).into_owned()) };
        Err(Error { status, detail })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.detail {
            Some(detail) => f.write_str(detail),
            None => f.write_str(&unsafe { CStr::from_ptr(sys::usp_status_string(self.status)) }.to_string_lossy()),
        }
    }
}

impl std::error::Error for Error {}
