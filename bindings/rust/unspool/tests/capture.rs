// SPDX-License-Identifier: MIT
//! Captures of threads of this process, and their names.
use std::ops::ControlFlow;
use std::sync::mpsc::channel;
use std::thread;
use unspool::{demangle, name_of, threads, ErrorKind, Format, FrameKind, Stack, Symbolizer, Thread};

#[inline(never)]
fn the_captured_function() -> Stack {
    let stack = Stack::capture().unwrap();
    // Not a tail call.
    assert!(stack.frames().len() > 1);
    stack
}

#[test]
fn the_calling_thread_begins_at_the_caller() {
    let stack = the_captured_function();
    let symbolizer = Symbolizer::new().unwrap();
    let first = stack.frames().next().unwrap();
    assert_eq!(first.kind(), FrameKind::ReturnAddress);
    assert_eq!(first.call_site(), first.pc() - 1);
    let symbol = symbolizer.symbolize_frame(first).unwrap().unwrap();
    assert!(symbol.name().contains("the_captured_function"), "{}", symbol.name());
    assert!(symbol.image().unwrap().contains("capture"));
    assert_eq!(symbol.start() + symbol.offset(), first.call_site());
    assert_eq!(demangle(&symbol.name()), "capture::the_captured_function");
    let caller = symbolizer.sources(stack.frames().nth(1).unwrap()).unwrap();
    let names: Vec<String> = caller.iter().map(|source| source.to_string()).collect();
    assert!(names.iter().any(|name| name.contains("the_calling_thread_begins_at_the_caller")), "{:?}", names);
    assert!(caller.iter().any(|source| source.file().as_deref() == Some("capture.rs") && source.line().is_some()));
    assert!(!stack.end().is_empty());
    assert_ne!(stack.hash(), 0);
    assert_eq!(stack.omitted(), 0);
}

#[inline(never)]
fn the_waiting_function(ready: &std::sync::mpsc::Sender<()>, wait: &std::sync::mpsc::Receiver<()>) -> bool {
    ready.send(()).unwrap();
    wait.recv().is_ok()
}

#[test]
fn another_thread_and_the_end_of_it() {
    let (ready, is_ready) = channel();
    let (go, wait) = channel();
    let handle = thread::spawn(move || the_waiting_function(&ready, &wait));
    is_ready.recv().unwrap();
    let thread = Thread::of(&handle).unwrap();
    let stack = Stack::capture_thread(&thread).unwrap();
    let symbolizer = Symbolizer::new().unwrap();
    let mut text = Vec::new();
    stack.write_to(&mut text, &Format::text(&symbolizer)).unwrap();
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("the_waiting_function"), "{}", text);
    assert!(threads().unwrap().iter().any(|listed| listed.id() == thread.id()));
    assert!(threads().unwrap().iter().any(|listed| listed.id() == Thread::main().unwrap().id()));
    assert_ne!(Thread::current().unwrap().id(), thread.id());
    go.send(()).unwrap();
    assert!(handle.join().unwrap());
    // The kernel may need a moment to end the thread.
    let error = (0..).find_map(|_| Stack::capture_thread(&thread).err()).unwrap();
    assert!(matches!(error.kind(), ErrorKind::NoThread | ErrorKind::Timeout), "{}", error);
}

#[test]
fn stacks_are_sent_to_other_threads() {
    let stack = the_captured_function();
    let symbolizer = Symbolizer::new().unwrap();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let name = symbolizer.symbolize_frame(stack.frames().next().unwrap()).unwrap().unwrap();
                assert!(name.name().contains("the_captured_function"));
            });
        }
    });
}

#[test]
fn functions_are_visited_until_a_visitor_breaks() {
    let symbolizer = Symbolizer::new().unwrap();
    let address = the_captured_function as usize as u64;
    let (mut all, mut starts, mut is_found) = (0, Vec::new(), false);
    symbolizer
        .visit(address, |symbol| {
            all += 1;
            starts.push(symbol.start());
            is_found |= symbol.name().contains("the_captured_function");
            ControlFlow::Continue(())
        })
        .unwrap();
    assert!(is_found && all > 100, "{}", all);
    assert!(starts.windows(2).all(|pair| pair[0] <= pair[1]));
    let mut few = 0;
    symbolizer
        .visit(address, |_| {
            few += 1;
            if few == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
        .unwrap();
    assert_eq!(few, 3);
    assert_eq!(symbolizer.visit(1, |_| ControlFlow::Continue(())).unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn names_of_addresses() {
    let name = name_of(the_captured_function as *const ()).unwrap();
    assert!(name.contains("the_captured_function"), "{}", name);
    assert_eq!(name_of(1 as *const ()), None);
    let mut symbolizer = Symbolizer::new().unwrap();
    assert!(symbolizer.symbolize(1).unwrap().is_none());
    assert!(symbolizer.sources_at(1).unwrap().is_empty());
    symbolizer.trim();
    assert_eq!(demangle("_RNvC3foo3bar"), "foo::bar");
    assert_eq!(demangle("main"), "main");
    assert_eq!(demangle("a\0b"), "a\0b");
}
