// SPDX-License-Identifier: MIT
//! Prints the stacks of all threads of this process or, with an argument, of the process with that id.
use unspool::{Format, Snapshot, Symbolizer};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let snapshot = match std::env::args().nth(1) {
        Some(pid) => Snapshot::of_process(pid.parse()?)?,
        None => Snapshot::of_self()?,
    };
    let symbolizer = Symbolizer::for_snapshot(&snapshot)?;
    snapshot.write_to(&mut std::io::stdout(), &Format::text(&symbolizer))?;
    Ok(())
}
