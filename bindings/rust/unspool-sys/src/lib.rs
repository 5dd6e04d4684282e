// SPDX-License-Identifier: MIT
//! Declarations of the C library unspool, which captures and symbolicates call stacks.
//!
//! Every function of the public headers is declared here under its own name. Its contract is in the header and on its
//! manual page, for example `man usp_capture_thread`. Constants of an `enum` have the type of the fields that hold them:
//! `u32`, and `c_int` for `enum usp_status`. The crate `unspool` wraps the most used part without `unsafe`.
//!
//! The build links with the library that pkg-config finds, or with the one in the folder `UNSPOOL_LIB_DIR`. With
//! `UNSPOOL_STATIC` set, it is linked statically.
#![allow(non_camel_case_types, non_upper_case_globals)]

use std::marker::{PhantomData, PhantomPinned};
use std::os::raw::{c_char, c_int, c_uint, c_void};

/// Defines types whose contents only the library knows.
macro_rules! opaque {
    ($($name:ident)*) => {
        $(
            #[repr(C)]
            pub struct $name {
                contents: [u8; 0],
                marker: PhantomData<(*mut u8, PhantomPinned)>,
            }
        )*
    };
}

/// Defines structs and, for the tests, a function that lists their layouts.
macro_rules! structs {
    ($(pub struct $name:ident { $(pub $field:ident: $type:ty,)* })*) => {
        $(
            #[repr(C)]
            #[derive(Clone, Copy, Debug)]
            pub struct $name {
                $(pub $field: $type,)*
            }
        )*

        #[cfg(test)]
        pub(crate) fn layouts() -> Vec<tests::Layout> {
            vec![$(tests::Layout {
                name: stringify!($name),
                size: std::mem::size_of::<$name>(),
                alignment: std::mem::align_of::<$name>(),
                fields: vec![$((stringify!($field), stringify!($type), {
                    let whole = std::mem::MaybeUninit::<$name>::uninit();
                    let field = unsafe { std::ptr::addr_of!((*whole.as_ptr()).$field) };
                    field as usize - whole.as_ptr() as usize
                })),*],
            }),*]
        }
    };
}

include!("declarations.rs");

#[cfg(test)]
mod tests;
