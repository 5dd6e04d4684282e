// SPDX-License-Identifier: MIT
// Threads that sleep, wait and calculate below closures and sorting, for tests/unwind/live.py to look at.
use std::sync::{Arc, Barrier, Condvar, Mutex};
use std::thread;
use std::time::Duration;

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
                let _ = never.1.wait(never.0.lock().unwrap());
            }),
            _ => down(3, &there, &|| loop {
                std::hint::black_box((0..1000).fold(0u64, |a, b| a ^ b));
            }),
        });
    }
    there.wait();
    println!("ready");
    down(1, &Barrier::new(1), &|| loop { thread::sleep(Duration::from_secs(1000)) });
}
