// SPDX-License-Identifier: MIT
//! Tells cargo how to link with the C library. UNSPOOL_LIB_DIR names a folder with libunspool, such as lib/.libs of a
//! build that is not installed. Otherwise pkg-config says where the installed library is.
use std::env;
use std::process::Command;

fn main() {
    for name in ["UNSPOOL_LIB_DIR", "UNSPOOL_STATIC", "UNSPOOL_LIBS", "PKG_CONFIG", "PKG_CONFIG_PATH", "PKG_CONFIG_LIBDIR"] {
        println!("cargo:rerun-if-env-changed={}", name);
    }
    let is_static = env::var_os("UNSPOOL_STATIC").is_some();
    let kind = if is_static { "static" } else { "dylib" };
    if let Ok(folder) = env::var("UNSPOOL_LIB_DIR") {
        println!("cargo:rustc-link-search=native={}", folder);
        println!("cargo:rustc-link-lib={}=unspool", kind);
        if is_static {
            link_with(&env::var("UNSPOOL_LIBS").unwrap_or_else(|_| "-lpthread -ldl".to_string()), kind);
        }
        return;
    }
    let mut command = Command::new(env::var("PKG_CONFIG").unwrap_or_else(|_| "pkg-config".to_string()));
    command.arg("--libs");
    if is_static {
        command.arg("--static");
    }
    let output = match command.arg("unspool").output() {
        Ok(output) => output,
        Err(error) => fail(&format!("pkg-config does not run: {}", error)),
    };
    if !output.status.success() {
        fail(String::from_utf8_lossy(&output.stderr).trim());
    }
    link_with(&String::from_utf8_lossy(&output.stdout), kind);
}

/// Passes on the words of a linker's command line that name folders and libraries.
fn link_with(words: &str, kind: &str) {
    for word in words.split_whitespace() {
        if let Some(folder) = word.strip_prefix("-L") {
            println!("cargo:rustc-link-search=native={}", folder);
        } else if word == "-lunspool" {
            println!("cargo:rustc-link-lib={}=unspool", kind);
        } else if let Some(library) = word.strip_prefix("-l") {
            println!("cargo:rustc-link-lib=dylib={}", library);
        }
    }
}

fn fail(why: &str) -> ! {
    eprintln!("{}", why);
    eprintln!("Install unspool so that pkg-config finds it, or set UNSPOOL_LIB_DIR to the folder of libunspool.");
    std::process::exit(1)
}
