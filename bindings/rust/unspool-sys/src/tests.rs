// SPDX-License-Identifier: MIT
//! Compares the declarations with the headers: writes them as C, with the layouts that this compiler gives them, and
//! lets a C compiler check that together with the headers. `CC` names the compiler (default `cc`), and
//! `UNSPOOL_INCLUDE_DIR` the folder of the headers (default: those of the source tree).
use std::collections::BTreeSet;
use std::ffi::CStr;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::{env, fs};

pub(crate) struct Layout {
    pub name: &'static str,
    pub size: usize,
    pub alignment: usize,
    /// Name, type and offset of each field.
    pub fields: Vec<(&'static str, &'static str, usize)>,
}

const DECLARATIONS: &str = include_str!("declarations.rs");

fn include_folder() -> PathBuf {
    match env::var_os("UNSPOOL_INCLUDE_DIR") {
        Some(folder) => PathBuf::from(folder),
        None => PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../include"),
    }
}

/// The text of all headers without comments.
fn headers() -> String {
    let mut code = String::new();
    for entry in fs::read_dir(include_folder().join("unspool")).expect("the folder of the headers") {
        let path = entry.unwrap().path();
        if path.extension().map_or(true, |name| name != "h") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let mut rest = text.as_str();
        while let Some(start) = rest.find("/*") {
            code.push_str(&rest[..start]);
            rest = &rest[start..];
            rest = &rest[rest.find("*/").unwrap() + 2..];
        }
        code.push_str(rest);
    }
    code
}

/// The words before each `end` in C text that begin with "usp_".
fn names_before<'a>(code: &'a str, end: &str) -> BTreeSet<&'a str> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    code.match_indices(end)
        .map(|(at, _)| {
            let before = code[..at].trim_end();
            &before[before.rfind(|c| !is_word(c)).map_or(0, |n| n + 1)..]
        })
        .filter(|word| word.starts_with("usp_"))
        .collect()
}

/// Splits at commas outside brackets.
fn split(text: &str) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0, 0, Vec::new());
    for (at, c) in text.char_indices() {
        match c {
            '(' | '<' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            '>' if !text[..at].ends_with('-') => depth -= 1,
            ',' if depth == 0 => {
                parts.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    let last = text[start..].trim();
    if !last.is_empty() {
        parts.push(last);
    }
    parts
}

/// Splits "(PARAMETERS) -> RESULT" into C's parameters and the result, in Rust.
fn signature(text: &str) -> (String, &str) {
    let (mut depth, mut end) = (0, 0);
    for (at, c) in text.char_indices() {
        depth += (c == '(') as i32 - (c == ')') as i32;
        if depth == 0 {
            end = at;
            break;
        }
    }
    let parameters: Vec<String> =
        split(&text[1..end]).iter().map(|p| c_type(p.split_once(": ").unwrap().1.trim(), "")).collect();
    let result = text[end + 1..].trim().strip_prefix("->").map_or("c_void", str::trim);
    (if parameters.is_empty() { "void".to_string() } else { parameters.join(", ") }, result)
}

/// The C declaration of a thing that has this Rust type.
fn c_type(rust: &str, declarator: &str) -> String {
    // Writing a type as a macro's argument changes its blanks.
    let rust = rust.trim();
    if let Some(rest) = rust.strip_prefix("*const ") {
        return match rest.starts_with('*') {
            true => c_type(rest, &format!("const *{}", declarator)),
            false => format!("const {}", c_type(rest, &format!("*{}", declarator))),
        };
    }
    if let Some(rest) = rust.strip_prefix("*mut ") {
        return c_type(rest, &format!("*{}", declarator));
    }
    if rust.starts_with('[') {
        let (element, count) = rust[1..rust.len() - 1].split_once(';').unwrap();
        return c_type(element, &format!("{}[{}]", declarator, count.replace(" as usize", "").trim()));
    }
    if let Some(function) = rust.strip_prefix("Option<unsafe extern \"C\" fn") {
        let (parameters, result) = signature(function.strip_suffix('>').unwrap());
        return c_type(result, &format!("(*{})({})", declarator, parameters));
    }
    let c = match rust {
        "c_char" => "char",
        "c_int" => "int",
        "c_uint" => "unsigned",
        "c_void" => "void",
        "bool" => "bool",
        "usize" => "size_t",
        "u8" => "uint8_t",
        "u32" => "uint32_t",
        "u64" => "uint64_t",
        "i32" => "int32_t",
        "i64" => "int64_t",
        name if DECLARATIONS.contains(&format!("pub type {} =", name)) => name,
        name => return format!("struct {} {}", name, declarator),
    };
    format!("{} {}", c, declarator)
}

/// What the declarations say, as C.
fn as_c() -> String {
    let mut c = String::from("#include <unspool/unspool.h>\n");
    for line in DECLARATIONS.lines() {
        if let Some(rest) = line.strip_prefix("pub const ") {
            let (name, rest) = rest.split_once(": ").unwrap();
            let value = rest.split_once(" = ").unwrap().1.trim_end_matches(';').replace("u32::MAX", "UINT32_MAX");
            writeln!(c, "_Static_assert({} == ({}), \"{}\");", name, value, name).unwrap();
        } else if let Some(rest) = line.strip_prefix("pub type ") {
            let (name, rust) = rest.trim_end_matches(';').split_once(" = ").unwrap();
            writeln!(c, "typedef {};", c_type(rust, name)).unwrap();
        } else if let Some(rest) = line.strip_prefix("    pub fn ") {
            let (name, rest) = rest.trim_end_matches(';').split_at(rest.find('(').unwrap());
            let (parameters, result) = signature(rest);
            writeln!(c, "{};", c_type(result, &format!("{}({})", name, parameters))).unwrap();
        }
    }
    for layout in super::layouts() {
        let name = layout.name;
        writeln!(c, "_Static_assert(sizeof(struct {}) == {}, \"size of {}\");", name, layout.size, name).unwrap();
        writeln!(c, "_Static_assert(_Alignof(struct {}) == {}, \"{}\");", name, layout.alignment, name).unwrap();
        for (field, rust, offset) in layout.fields {
            let field = field.trim_start_matches("r#");
            writeln!(c, "_Static_assert(offsetof(struct {}, {}) == {}, \"{}.{}\");", name, field, offset, name, field)
                .unwrap();
            writeln!(
                c,
                "_Static_assert(__builtin_types_compatible_p(__typeof__(((struct {} *)0)->{}), {}), \"{}.{}\");",
                name,
                field,
                c_type(rust, ""),
                name,
                field
            )
            .unwrap();
        }
    }
    c
}

/// What the C compiler says about the text; empty when it accepts it.
fn complaint(c: &str) -> String {
    let mut compiler = Command::new(env::var_os("CC").unwrap_or_else(|| "cc".into()))
        .args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-x", "c", "-"])
        .arg(format!("-I{}", include_folder().display()))
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the C compiler");
    compiler.stdin.take().unwrap().write_all(c.as_bytes()).unwrap();
    let output = compiler.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).to_string();
    assert_eq!(output.status.success(), said.is_empty(), "{}", said);
    said
}

#[test]
fn declarations_are_those_of_the_headers() {
    let said = complaint(&as_c());
    assert!(said.is_empty(), "{}", said);
}

#[test]
fn wrong_declarations_are_noticed() {
    let right = as_c();
    for (from, to) in [
        ("sizeof(struct usp_frame) == ", "sizeof(struct usp_frame) == 1 + "),
        ("offsetof(struct usp_stack, count) == ", "offsetof(struct usp_stack, count) == 4 + "),
        ("usp_frame_call_site(uint32_t ,", "usp_frame_call_site(uint64_t ,"),
        ("_Static_assert(USP_ERROR_BUSY == (", "_Static_assert(USP_ERROR_BUSY == (1 + "),
        ("__typeof__(((struct usp_symbol *)0)->name), const char", "__typeof__(((struct usp_symbol *)0)->name), char"),
    ] {
        let wrong = right.replacen(from, to, 1);
        assert_ne!(wrong, right, "no {}", from);
        assert!(!complaint(&wrong).is_empty(), "not noticed: {}", to);
    }
}

#[test]
fn nothing_is_left_out() {
    let code = headers();
    let mut functions = BTreeSet::new();
    for declaration in code.split("USP_API").skip(1) {
        let declaration = &declaration[..declaration.find(';').unwrap_or(0)];
        if let Some(first) = declaration.find('(') {
            functions.extend(names_before(&declaration[..=first], "("));
        }
    }
    let declared: BTreeSet<&str> = DECLARATIONS.lines().filter_map(|line| line.strip_prefix("    pub fn ")).collect();
    let declared: BTreeSet<&str> = declared.iter().map(|line| &line[..line.find('(').unwrap()]).collect();
    assert!(functions.len() > 200, "{}", functions.len());
    assert_eq!(functions, declared);

    let structs: BTreeSet<&str> = names_before(&code, "{").into_iter().filter(|name| is_struct(&code, name)).collect();
    let layouts: BTreeSet<&str> = super::layouts().iter().map(|layout| layout.name).collect();
    assert!(structs.len() > 50, "{}", structs.len());
    assert_eq!(structs, layouts);
}

fn is_struct(code: &str, name: &str) -> bool {
    code.contains(&format!("struct {} {{", name))
}

#[test]
fn the_library_is_the_one_of_the_headers() {
    let version = unsafe { CStr::from_ptr(super::usp_version_string()) };
    assert_eq!(version.to_str().unwrap(), env!("CARGO_PKG_VERSION"));
    let number = super::USP_VERSION_MAJOR << 16 | super::USP_VERSION_MINOR << 8 | super::USP_VERSION_PATCH;
    assert_eq!(unsafe { super::usp_version() }, number);
}
