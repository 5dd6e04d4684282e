// SPDX-License-Identifier: MIT
// Threads that sleep, wait and calculate below closures and sorting, for tests/unwind/live.py to examine.
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Condvar, Mutex};
use std::thread;
use std::time::Duration;

static SINK: AtomicU64 = AtomicU64::new(0);

#[inline(never)]
fn down(n: u32, there: &Barrier, last: &dyn Fn()) -> u32 {
    if n == 0 {
        there.wait();
        last();
    }
    let mut numbers = vec![n, n + 1];
    numbers.sort_by_key(|x| if *x == n { down(n - 1, there, last) } else { *x });
    numbers[0]
}

fn main() {
    let there = Arc::new(Barrier::new(4));
    let never = Arc::new((Mutex::new(()), Condvar::new()));
    for kind in 0..3 {
        let (there, never) = (there.clone(), never.clone());
        thread::spawn(move || match kind {
            0 => down(4, &there, &|| loop { thread::sleep(Duration::from_secs(1000)) }),
            1 => down(2, &there, &|| loop {
                drop(never.1.wait(never.0.lock().unwrap()));
            }),
            _ => down(3, &there, &|| loop {
                SINK.fetch_add(1, Ordering::Relaxed);
            }),
        });
    }
    there.wait();
    println!("ready");
    down(1, &Barrier::new(1), &|| loop { thread::sleep(Duration::from_secs(1000)) });
}
