// SPDX-License-Identifier: MIT
//! Snapshots of this process and of another one, as data, text and JSON, and what goes wrong.
use std::io::{self, Write};
use std::process::{Command, Stdio};
use unspool::{Error, ErrorKind, Format, Snapshot, Style, Symbolizer};

#[inline(never)]
fn the_function_of_the_snapshot() -> Snapshot {
    let snapshot = Snapshot::of_self().unwrap();
    assert!(snapshot.info().thread_count > 0);
    snapshot
}

fn written(snapshot: &Snapshot, format: &Format<'_>) -> String {
    let mut text = Vec::new();
    snapshot.write_to(&mut text, format).unwrap();
    String::from_utf8(text).unwrap()
}

#[test]
fn this_process() {
    let snapshot = the_function_of_the_snapshot();
    assert_eq!(snapshot.info().pid, i64::from(std::process::id()));
    assert_eq!(snapshot.threads().count(), snapshot.info().thread_count as usize);
    let own = snapshot.threads().find(|thread| thread.is_requester()).unwrap();
    assert_eq!(own.error(), None);
    assert!(snapshot.threads().filter(|thread| thread.is_main()).count() == 1);
    // The thread has its test's name, cut by the system.
    assert!("this_process".starts_with(&*own.name()) && !own.name().is_empty(), "{}", own.name());
    let symbolizer = Symbolizer::for_snapshot(&snapshot).unwrap();
    let names: Vec<String> =
        own.stack().into_iter().flat_map(|frame| symbolizer.sources(frame).unwrap()).map(|s| s.to_string()).collect();
    assert!(names.iter().any(|name| name.contains("the_function_of_the_snapshot")), "{:?}", names);
    assert!(names.iter().any(|name| name.contains("(snapshot.rs:")), "{:?}", names);
    assert!(written(&snapshot, &Format::text(&symbolizer)).contains("the_function_of_the_snapshot"));
    let json = written(&snapshot, &Format::json(&symbolizer));
    assert!(json.starts_with('{') && json.contains("the_function_of_the_snapshot"));
    let bare = Format { style: Style::Plain, symbolizer: None, lines: false, demangled: false };
    assert!(!written(&snapshot, &bare).contains("the_function_of_the_snapshot"));
    assert_eq!(snapshot.messages().len(), 0);
}

#[test]
fn another_process() {
    let mut other = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    // It answers, so it runs its own program by now.
    other.stdin.as_mut().unwrap().write_all(b"a").unwrap();
    io::Read::read_exact(other.stdout.as_mut().unwrap(), &mut [0]).unwrap();
    let captured = Snapshot::of_process(other.id());
    drop(other.stdin.take());
    let pid = other.id();
    other.wait().unwrap();
    let snapshot = captured.unwrap();
    assert_eq!(snapshot.info().pid, i64::from(pid));
    assert!(snapshot.threads().next().unwrap().stack().frames().len() > 0);
    let error = Snapshot::of_process(pid).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoThread);
    assert!(error.to_string().contains(&pid.to_string()), "{}", error);
}

#[test]
fn errors_have_sentences() {
    let error = Snapshot::open_core("/nowhere/core").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.to_string().contains("/nowhere/core"), "{}", error);
    assert_eq!(Snapshot::open_core("a\0b").unwrap_err().kind(), ErrorKind::Argument);
    let error = Error::from_status(unspool::sys::USP_ERROR_BUSY);
    assert_eq!(error.kind(), ErrorKind::Busy);
    assert_eq!(error.to_string(), "busy, try again");
    assert_eq!(Error::from_status(12345).kind(), ErrorKind::Other);
}

struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += 1;
        if self.0 > 2 { Err(io::Error::new(io::ErrorKind::Other, "the disk is full")) } else { Ok(bytes.len()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn the_error_of_a_writer_is_returned() {
    let snapshot = the_function_of_the_snapshot();
    let symbolizer = Symbolizer::for_snapshot(&snapshot).unwrap();
    let mut full = Full(0);
    let error = snapshot.write_to(&mut full, &Format::text(&symbolizer)).unwrap_err();
    assert_eq!(error.to_string(), "the disk is full");
    assert_eq!(full.0, 3);
}
