// SPDX-License-Identifier: MIT
//! A panic in a callback ends the process with a report. Each case runs in a child process, which is this program with
//! the name of an ignored test.
use std::env;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use unspool::{Format, Stack, Symbolizer};

const SIGABRT: i32 = 6;

struct Panicking;

impl io::Write for Panicking {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        panic!("the writer is {}", "broken")
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
#[ignore = "a child process runs it"]
fn child_of_a_writer() {
    let symbolizer = Symbolizer::new().unwrap();
    let _ = Stack::capture().unwrap().write_to(&mut Panicking, &Format::text(&symbolizer));
}

#[test]
#[ignore = "a child process runs it"]
fn child_of_a_visitor() {
    let symbolizer = Symbolizer::new().unwrap();
    let _ = symbolizer.visit(child_of_a_visitor as usize as u64, |_| panic!("the visitor is tired"));
}

fn expect_report(child: &str, words: &[&str]) {
    let output = Command::new(env::current_exe().unwrap())
        .args(["--exact", child, "--ignored", "--nocapture"])
        .env("RUST_BACKTRACE", "0")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.signal(), Some(SIGABRT), "{}", said);
    for word in words {
        assert!(said.contains(word), "no {:?}: {}", word, said);
    }
}

#[test]
fn a_panic_of_a_writer_aborts() {
    expect_report("child_of_a_writer", &["unspool: a writer panicked: the writer is broken", "aborts", "usp_format_stack"]);
}

#[test]
fn a_panic_of_a_visitor_aborts() {
    let words = ["unspool: a visitor panicked: the visitor is tired", "aborts", "child_of_a_visitor"];
    expect_report("child_of_a_visitor", &words);
}
