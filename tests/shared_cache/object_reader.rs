// SPDX-License-Identifier: MIT
// Lists a shared cache with the crate `object`, for tests/shared_cache/readers.py: a line for each image (I, path, uuid)
// and for each of its defined symbols (S, address, name). Arguments: the main file, then its sub-caches in order.
use object::read::macho::DyldCache;
use object::{Endianness, Object, ObjectSymbol};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut files = Vec::new();
    for path in std::env::args().skip(1) {
        files.push(std::fs::read(path)?);
    }
    let parts: Vec<&[u8]> = files[1..].iter().map(|f| f.as_slice()).collect();
    let cache = DyldCache::<Endianness>::parse(files[0].as_slice(), &parts)?;
    for image in cache.images() {
        let object = image.parse_object()?;
        let uuid: String = object
            .mach_uuid()?
            .ok_or("no uuid")?
            .iter()
            .map(|byte| format!("{:02x}", byte))
            .collect();
        println!("I {} {}", image.path()?, uuid);
        for symbol in object.symbols().filter(|s| s.is_definition()) {
            println!("S {:x} {}", symbol.address(), symbol.name()?);
        }
    }
    Ok(())
}
