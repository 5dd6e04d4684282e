// SPDX-License-Identifier: MIT
//! Captures and symbolicates call stacks: of the calling thread, of other threads, of all threads at one moment, of
//! another process or a core file. The C library unspool does the work.
//!
//! ```no_run
//! use unspool::{Snapshot, Symbolizer};
//!
//! fn main() -> Result<(), unspool::Error> {
//!     let snapshot = Snapshot::of_self()?;
//!     let symbolizer = Symbolizer::for_snapshot(&snapshot)?;
//!     for thread in snapshot.threads() {
//!         println!("thread {} {}", thread.id(), thread.name());
//!         for frame in thread.stack().frames() {
//!             for source in symbolizer.sources(frame)? {
//!                 println!("  {}", source);
//!             }
//!         }
//!     }
//!     Ok(())
//! }
//! ```
//!
//! Nothing here is async-signal-safe: signal handlers call the functions of `unspool_sys` that say they are. A panic in
//! a callback (a writer, a visitor) cannot pass through the library: the process prints a report and aborts.

mod callback;
mod error;
mod format;
mod snapshot;
mod stack;
mod symbolizer;

pub use error::{Error, ErrorKind, Result};
pub use format::{Format, Style};
pub use snapshot::{Snapshot, SnapshotThread, SnapshotThreads};
pub use stack::{threads, Frame, FrameKind, Frames, Stack, StackRef, Thread};
pub use symbolizer::{demangle, name_of, Source, Symbol, Symbolizer};

pub use unspool_sys as sys;
